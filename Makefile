# make demo      try kvdiag on a broken node's logs       make check   all that CI asks
# make test      the test suite                           make bench   speed against ripgrep
# make integration   tests against the programs of others: a browser, kubectl, S3, Dask, other Pythons, a build
# make lowest    tests with the oldest releases that are admitted
# make lock      pins anew what kvdiag is installed with: requirements.lock
# make mutants   faults put into each rule, which its own tests must notice
# make explore   what must hold for any input, by thousands of examples that are new each time
# make pyz       dist/kvdiag.pyz: one file that runs wherever there is Python 3.11 or newer
# make krew      dist/kvdiag.yaml and its archive, by which krew installs `kubectl kvdiag`
# make docs      the documentation as a site: build/site
# make pictures  draws the pictures in it again (needs a Chromium)
# make holmes    the toolset for HolmesGPT, run by HolmesGPT itself (800 MB)
# make fuzz      ten minutes each for what reads bytes that nobody vouches for (needs atheris)
#
# Needs Python 3.11 or newer: make demo PYTHON=python3.12 chooses one. What is installed is pinned by requirements.lock;
# make demo LOCKED=no installs the newest releases that pyproject.toml admits, for a machine that the pinned do not run on.

PYTHON ?= python3
DEMO ?= hostpath-driver-lost-state
UNTIL ?= 2026-11-20T20:41:00Z
LOG ?=
SECONDS ?= 600
LOCKED ?= yes
HOMEPAGE ?= https://github.com/OWNER/kvdiag

# Optional parts that an image may have, each with its own lock; each fits those before it, and may need other releases
# than requirements.lock has: s3fs still needs python-dateutil 2.
EXTRAS := fleet dask mcp
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# What only developers need is much, and uv installs it in a tenth of pip's time.
UV := -m uv pip install --quiet --python
# Tests start many interpreters: without bytecode each compiles kvdiag anew, and each worker all tests. Most of what pip
# installs is never imported, and what is imported is compiled then.
unexport PYTHONDONTWRITEBYTECODE
export PIP_NO_COMPILE := 1
# Each core has its share of the tests in their order, so that what a file prepares is prepared once; beyond four, more
# would be prepared than shared.
SPREAD := -n auto --maxprocesses 4 --dist worksteal

.DEFAULT_GOAL := demo
.PHONY: demo test integration mutants lowest lock lint types check bench bench-full explore fuzz docs pictures holmes pyz krew clean format

demo: $(VENV)/.installed
	@$(BIN)/kvdiag analyze --fail-on never --until $(UNTIL) sample-logs/$(DEMO)

# In a zone west of Greenwich: logs without a zone must not depend on where they are read.
test: $(VENV)/.dev
	TZ=EST+5 $(BIN)/pytest -q $(SPREAD) --ignore=tests/integration

integration: $(VENV)/.integration
	TZ=EST+5 $(BIN)/pytest -q $(SPREAD) tests/integration

# With the oldest releases that pyproject.toml admits of what kvdiag needs, in an environment of their own; not what
# shells make of commands, which is the same with any release.
lowest: $(VENV)-lowest/.installed
	$(VENV)-lowest/bin/python -m pytest -q $(SPREAD) tests/rules tests/base/test_yamlread.py tests/base/test_clock.py \
		tests/test_explain_cli.py --ignore=tests/rules/test_fill.py --ignore=tests/rules/test_greps.py

# What `make test` does not ask: whether the tests of the rules would notice a fault in them, in every wording there is.
mutants: $(VENV)/.installed
	$(BIN)/kvdiag rules test --mutants

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/vulture
	$(BIN)/python -m tools.upstream

types: $(VENV)/.integration
	$(BIN)/mypy

check: lint types test integration mutants

# For all Pythons and machines at once, which pip cannot do. Read the diff, and run `make test` with what is new.
lock: $(VENV)/.dev
	$(PIP) install 'uv>=0.9'
	{ sed -n '/^[^#]/q; p' requirements.lock; \
		$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra fast --upgrade --generate-hashes \
		--no-header pyproject.toml; } > $(VENV)/requirements.lock
	mv $(VENV)/requirements.lock requirements.lock
	rm -f $(EXTRAS:%=requirements-%.lock)
	$(foreach extra,$(EXTRAS),$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --extra $(extra) \
		--generate-hashes --no-header $$(ls requirements-*.lock 2> $(VENV)/no-lock | sed 's/^/-c /') pyproject.toml \
		> $(VENV)/extra.lock && mv $(VENV)/extra.lock requirements-$(extra).lock && ) true

bench: $(VENV)/.installed
	$(BIN)/python bench/speed.py $(LOG)

bench-full: $(VENV)/.installed
	$(BIN)/python bench/speed.py --size 100 --rounds 5 $(LOG)

explore: $(VENV)/.dev
	$(BIN)/pytest -q -n auto --hypothesis-profile=explore -m hypothesis

# Not among the tools of `make test`: its wheels are few. What it finds stays in .fuzz/, to be cut down into a test.
fuzz: $(VENV)/.dev
	$(PIP) install atheris
	for target in formats inputs archives values logs evidence explain rules redact anonymize; do mkdir -p .fuzz/$$target; \
		$(BIN)/python bench/fuzz.py $$target -max_total_time=$(SECONDS) -artifact_prefix=.fuzz/$$target- .fuzz/$$target || exit 1; done

docs: $(VENV)/.integration
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Without hyperscan, which is compiled for one Python and one machine; the other wheels do without their compiled part.
pyz: $(VENV)/.integration
	rm -rf build/pyz && mkdir -p dist
	$(PIP) install --target build/pyz --require-hashes -r requirements.lock
	$(PIP) install --target build/pyz --no-deps .
	rm -rf build/pyz/hyperscan build/pyz/hyperscan-*
	$(BIN)/shiv --site-packages build/pyz --console-script kvdiag --reproducible --output-file dist/kvdiag.pyz

krew: pyz
	$(BIN)/python -m tools.krew $(HOMEPAGE)

pictures: $(VENV)/.integration
	$(BIN)/python bench/pictures.py

holmes: $(VENV)/.dev
	test -x $(VENV)-holmes/bin/python || $(PYTHON) -m venv $(VENV)-holmes
	$(VENV)-holmes/bin/python -m pip --disable-pip-version-check --quiet install holmesgpt==0.45.0
	KVDIAG_HOLMES=$(CURDIR)/$(VENV)-holmes/bin/python $(BIN)/pytest -q tests/integration/test_holmes.py

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-holmes build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
	find kvdiag tools tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps lie in the environment, so that they go when it goes.
$(VENV)/.installed: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit("kvdiag needs Python 3.11 or newer: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
ifeq ($(LOCKED),yes)
	@$(PIP) install --require-hashes -r requirements.lock || { echo "make: requirements.lock cannot be installed here;" \
		"make LOCKED=no takes what pyproject.toml admits, which no hash is known of" >&2; exit 1; }
	$(PIP) install --no-deps -e .
else
	$(PIP) install -e '.[fast]' || { echo "make: no fast scanner for this machine; kvdiag will be slower" >&2; \
		$(PIP) install -e .; }
endif
	@touch $@

$(VENV)-lowest/.installed: pyproject.toml lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check --quiet install 'uv>=0.9'
	$(VENV)-lowest/bin/python $(UV) $(VENV)-lowest -e '.[fast]' --group dev -c lowest.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) install 'uv>=0.9'
	$(BIN)/python $(UV) $(VENV) --group dev
	@touch $@

$(VENV)/.integration: $(VENV)/.dev
	$(BIN)/python $(UV) $(VENV) --group integration
	@touch $@
