# make demo      try kvdiag on a broken node's logs       make check   all that CI asks
# make test      the test suite, also in another zone     make bench   speed against ripgrep
# make lowest    tests with the oldest releases that are admitted
# make explore   what must hold for any input, by thousands of examples that are new each time
# make fuzz      ten minutes each for what reads bytes that nobody vouches for (needs atheris)
#
# Needs Python 3.11 or newer: make demo PYTHON=python3.12 chooses one.

PYTHON ?= python3
DEMO ?= hostpath-driver-lost-state
UNTIL ?= 2026-11-20T20:41:00Z
LOG ?=
SECONDS ?= 600

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.DEFAULT_GOAL := demo
.PHONY: demo test lowest lint types check bench explore fuzz clean format

demo: $(VENV)/.installed
	@$(BIN)/kvdiag analyze --fail-on never --until $(UNTIL) sample-logs/$(DEMO)

# Once more in a zone west of Greenwich: logs without a zone must not depend on where they are read.
test: $(VENV)/.dev
	$(BIN)/pytest -q -n auto
	TZ=EST+5 $(BIN)/pytest -q -n auto -k "clock or formats"

# With the oldest releases that pyproject.toml admits of what kvdiag needs, in an environment of their own.
lowest: $(VENV)-lowest/.installed
	$(VENV)-lowest/bin/python -m pytest -q -n auto tests/rules tests/test_yamlread.py tests/test_clock.py \
		tests/test_explain_cli.py

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy

check: lint types test

bench: $(VENV)/.installed
	$(BIN)/python bench/speed.py $(LOG)

explore: $(VENV)/.dev
	$(BIN)/pytest -q -n auto --hypothesis-profile=explore -m hypothesis

# Not among the tools of `make test`: its wheels are few. What it finds stays in .fuzz/, to be cut down into a test.
fuzz: $(VENV)/.dev
	$(PIP) install atheris
	for target in formats inputs archives gostruct logs evidence explain rules redact anonymize; do mkdir -p .fuzz/$$target; \
		$(BIN)/python bench/fuzz.py $$target -max_total_time=$(SECONDS) -artifact_prefix=.fuzz/$$target- .fuzz/$$target || exit 1; done

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(VENV)-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find kvdiag tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps lie in the environment, so that they go when it goes.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("kvdiag needs Python 3.11 or newer: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip
	$(PIP) install -e '.[fast]' || $(PIP) install -e .
	@touch $@

$(VENV)-lowest/.installed: pyproject.toml lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check --quiet install --upgrade pip
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check --quiet install -e '.[fast]' --group dev -c lowest.txt
	@touch $@

# --group is pip 25.1's; the pip that comes with Python 3.11 is older, hence the upgrade above.
$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install --group dev
	@touch $@
