"""What a log's word must look like to stand in a command: never like an option, wherever its place in the command is."""

from __future__ import annotations

import re
import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvdiag.base.safe_values import is_safe
from kvdiag.rules.distribution import Dialect, default_dialect, distributions
from kvdiag.rules.fill import command
from tests.patterns import library

SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
RULES = library().rules
DIALECTS = [default_dialect(), *(Dialect(one, one.runtime or default_dialect().runtime) for one in distributions())]
COMMANDS = sorted(
    {d.expand(fix.run).strip() for d in DIALECTS for rule in RULES for fix in rule.fix if SLOT.search(fix.run)}
)
SLOTS = sorted({slot for text in COMMANDS for slot in SLOT.findall(text)})
# What a hostile name may be made of: what begins an option, what a shell or a tool reads otherwise, and what is seen.
PIECES = [
    "-",
    "--",
    "=",
    "/",
    "a",
    "0",
    ".",
    ":",
    "~",
    "@",
    "+",
    "\n",
    "\0",
    " ",
    "'",
    "$(id)",
    "‑",
    "−",
    "\u200b",
    "é",
]
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join) | st.text(min_size=1)
GOOD = {
    "path": "/var/lib/kubelet/pods",
    "pod_uid": "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01",
    "sandbox_id": "5adb082e9d2b",
    "container_id": "5adb082e9d2b",
    "target_path": "/var/lib/kubelet/pods/1f0c3a52/volumes/kubernetes.io~csi/pvc-1/mount",
    "staging_path": "/var/lib/kubelet/plugins/kubernetes.io/csi/csi.example.org/5adb/globalmount",
}


def is_guarded(text: str, slot: re.Match[str]) -> bool:
    """Whether what stands in a place of a command cannot begin a word, or can begin no option."""
    before = text[: slot.start()]
    return before[-1:] not in {" ", ""} or before.endswith((" -- ", " -e "))


@pytest.mark.parametrize("slot", SLOTS)
@given(drawn=NAMES)
@example(drawn="o")
@example(drawn="-rf")
@example(drawn="=ls")
def test_no_value_begins_as_an_option(slot, drawn):
    """Whatever a log calls it, what fits a place of any rule's command begins with no dash, tilde or equals sign."""
    for value in (drawn, f"-{drawn}", f"--{drawn}", f"~{drawn}", f"={drawn}", f"\n-{drawn}"):
        assert not is_safe(slot, value) or value[0] not in "-~=\n"
    assert is_safe(slot, GOOD.get(slot, "web-0"))


def test_each_place_of_each_command_is_safe():
    """Each filled place is one word, or the rest of one; a name like an option is in none, nor is it where it is not known.

    Where `--`, `=` or `-e` stands before it the program takes it for no option; elsewhere its shape does not let it begin so.
    """
    for text in COMMANDS:
        assert_safe(text)


def assert_safe(text: str) -> None:
    """Fail where a hostile name could be an option of a command."""
    for slot in SLOT.finditer(text):
        hostile = {name: GOOD.get(name, "web-0") for name in SLOT.findall(text)} | {slot[1]: "--help"}
        assert is_guarded(text, slot) or not is_safe(slot[1], "--help")
        assert command(text, hostile) == ""
    unknown = command(text, {})
    words = shlex.split(unknown.replace("|", " "))
    assert not [word for word in words if word.startswith("-<")]
    assert all(f"<{slot}>" in unknown for slot in SLOT.findall(text))


@pytest.mark.parametrize(
    ("path", "is_path"), [("/opt/cni/bin/", True), ("/opt/cni/bin", True), ("/", False), ("/opt//bin", False)]
)
def test_a_folder_may_end_in_a_slash(path, is_path):
    """The paths of a setting are printed as they were set."""
    assert is_safe("path", path) is is_path
