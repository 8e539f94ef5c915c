"""Commands as text: what programs they run, and whether each knows the options it is given.

`kubectl get pods -A | grep x` → [["kubectl", "get", "pods", "-A"], ["grep", "x"]]
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Form(NamedTuple):
    """What a program may be given: letters of short options, whole options, and the same for each subcommand.

    What follows a letter of `valued` in the same word is its value, as in -f3.
    """

    letters: str = ""
    options: str = ""
    valued: str = ""
    verbs: Mapping[str, str] | None = None


# Options as the programs' own help tells them, of those that rules use; a new one is looked up and added.
FORMS: Mapping[str, Form] = {
    "awk": Form(),
    "bash": Form("c"),
    "cat": Form(),
    "containerd": Form(options="--version"),
    "cp": Form("a"),
    "crictl": Form(
        verbs={
            "inspect": "",
            "inspectp": "",
            "pods": "--name --namespace --state --id --label --quiet --no-trunc",
            "ps": "--all --id --quiet --name --pod --state --label",
            "rmp": "--force -f",
            "stopp": "",
            "rm": "--force -f",
            "stop": "--timeout",
            "logs": "--tail --since",
            "info": "",
            "version": "",
        }
    ),
    "ctr": Form("n", "--namespace", verbs={"containers": "", "tasks": "", "snapshots": ""}),
    "cut": Form(valued="df"),
    "dmesg": Form(options="--ctime --level"),
    "find": Form(options="-lname -maxdepth -mindepth -name -path -type -xdev -newer"),
    "findmnt": Form(options="--list --output --types --mountpoint --submounts --noheadings --source --target -R"),
    "fuser": Form(options="--verbose"),
    "grep": Form("EFeilnorsvwq", "--fixed-strings", valued="ABC"),
    "head": Form(valued="n"),
    "ip": Form(verbs={"link": "", "address": "", "route": ""}),
    "journalctl": Form(
        "kuobnpr", "--since --until --grep --no-pager --dmesg --unit --output --boot --lines --priority --reverse"
    ),
    "kill": Form(options="-USR1 -KILL -TERM -QUIT"),
    "kubectl": Form(
        verbs={
            "annotate": "-n --overwrite",
            "cordon": "",
            "delete": "-n --force --grace-period",
            "describe": "-n -A",
            "drain": "--ignore-daemonsets --delete-emptydir-data",
            "exec": "-n -c -it",
            "get": "-n -A -o -l --field-selector --sort-by --show-labels --selector --all-namespaces",
            "label": "-n --overwrite",
            "logs": "-n -c --since --tail --previous -l --timestamps",
            "patch": "-n -p --type",
            "rollout": "-n",
            "scale": "-n --replicas",
            "taint": "",
            "top": "-n -A --containers",
            "uncordon": "",
        }
    ),
    "ls": Form("ladhS"),
    "lsblk": Form(options="--output"),
    "lsns": Form(options="--type --output"),
    "lvs": Form("o"),
    "mv": Form(),
    "pidof": Form(),
    "pkill": Form("x", "-USR1"),
    "ps": Form("eopf"),
    "time": Form(),
    "reboot": Form(),
    "rm": Form("r", "--one-file-system"),
    "rmdir": Form(),
    "sort": Form("unr", valued="k"),
    "ss": Form("xlntp", "--listening --tcp --unix --numeric --processes"),
    "stat": Form("fc"),
    "systemctl": Form(
        verbs=dict.fromkeys(("cat", "status", "restart", "start", "stop", "show", "is-active"), "--no-pager --full")
    ),
    "tail": Form(valued="n"),
    "timeout": Form(),
    "umount": Form(options="--force --lazy"),
    "uname": Form("r"),
    "df": Form("hi"),
    "du": Form("shx"),
    "blkid": Form(),
    "xargs": Form("r"),
}
RUN_OTHERS = {"time": 1, "timeout": 2, "xargs": 2}  # programs whose arguments from there on are another command


def simple_commands(text: str) -> list[list[str]]:
    """The words of every program that a command line runs, without redirections and comments."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&()<>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    commands: list[list[str]] = [[]]
    words = iter(lexer)
    for word in words:
        if set(word) <= set("<>"):
            next(words, None)
        elif set(word) <= set("|;&()"):
            commands.append([])
        elif word != "$":
            commands[-1].append(word)
    return [nested for words in commands if words for nested in _nested(words)]


def _nested(words: list[str]) -> Iterator[list[str]]:
    begin = RUN_OTHERS.get(words[0])
    if begin is None:
        yield words
        return
    yield words[:begin]
    yield from _nested(words[begin:])


def faults(words: list[str]) -> Iterator[str]:
    """What is wrong with one program and its options; it may still be of no use."""
    program, arguments = words[0], words[1:]
    form = FORMS.get(program)
    if form is None:
        yield f"{program}: no program that is known"
        return
    known = form.options.split()
    if form.verbs is not None:
        verb = next((word for word in arguments if not word.startswith("-")), "")
        if verb not in form.verbs:
            yield f"{program} {verb}: no command that is known"
        known += form.verbs.get(verb, "").split()
    for word in _options(program, arguments):
        name = word.split("=")[0]
        short = not name.startswith("--") and (name[1:2] in form.valued or set(name[1:]) <= set(form.letters))
        if name not in known and not short:
            yield f"{program}: no option {name}"


def _options(program: str, arguments: list[str]) -> Iterator[str]:
    """The words that are options; what follows `bash -c` or `--` is none."""
    for word in arguments:
        if word == "--":
            return
        if word.startswith("-") and word != "-":
            yield word
        if program == "bash" and word == "-c":
            return
