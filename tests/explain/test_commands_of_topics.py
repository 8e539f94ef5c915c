"""Commands of topics have the form of their programs, as those of rules have."""

from __future__ import annotations

import subprocess

import pytest

from kvdiag.analysis.explain import Explainer
from tests.shellforms import FORMS, faults, simple_commands

EXPLAINER = Explainer()
COMMANDS = sorted(
    {
        command
        for topic in EXPLAINER.topics.values()
        for mode in topic.modes or [""]
        for answer in EXPLAINER.page(topic, mode).answers
        for command in answer.run
    }
)
OTHERS = {"curl", "dpkg", "echo", "kvdiag", "minikube", "mkdir", "oc", "printf", "rpm", "talosctl"}
NEW_WORDS = {  # of kubectl and systemctl, which no rule uses
    "kubectl proxy: no command that is known",
    "kubectl: no option --port",
    "kubectl: no option --wait",
    "systemctl daemon-reload: no command that is known",
}


@pytest.mark.parametrize("text", COMMANDS)
def test_the_form_of_a_command(text):
    """A shell can read it, and its programs are known, with options that they have."""
    done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    programs = [words for words in simple_commands(text) if words[0] in FORMS]
    assert {words[0] for words in simple_commands(text)} <= {*FORMS, *OTHERS}
    assert {fault for words in programs for fault in faults(words)} - NEW_WORDS == set()


def test_none_has_what_is_known_to_mislead():
    """No command lists the processes of a whole file system, or searches mounts for a handle that they do not show."""
    text = "\n".join(COMMANDS)
    assert [word for word in ("fuser --mount", "fuser -m", "journalctl -A", "rm -rf") if word in text] == []
    assert not [command for command in COMMANDS if command.startswith("findmnt") and "HANDLE" in command]
