"""Commands as text: what programs they run, and whether each knows the options it is given.

`kubectl get pods -A | grep x` → [["kubectl", "get", "pods", "-A"], ["grep", "x"]]
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Form(NamedTuple):
    """What a program may be given: letters of short options, whole options, and the same for each subcommand.

    What follows a letter of `valued` in the same word is its value, as in -f3. `before` are options with a value that
    may stand before the subcommand.
    """

    letters: str = ""
    options: str = ""
    valued: str = ""
    verbs: Mapping[str, str] | None = None
    before: str = ""


# Options as the programs' own help tells them, of those that rules use; a new one is looked up and added.
FORMS: Mapping[str, Form] = {
    "Get-SmbGlobalMapping": Form(),  # of PowerShell
    "aa-disable": Form(),
    "aa-status": Form(),
    "ausearch": Form(options="-m -ts"),
    "awk": Form(),
    "bash": Form("c"),
    "cat": Form(),
    "chattr": Form("i"),
    "containerd": Form(options="--version"),
    "cp": Form("a"),
    "crictl": Form(
        verbs={
            "exec": "",
            "imagefsinfo": "",
            "inspect": "",
            "inspecti": "",
            "inspectp": "",
            "pods": "--name --namespace --state --id --label --quiet --no-trunc",
            "ps": "-a -o --all --id --quiet --name --pod --state --label",
            "rmp": "--force -f",
            "stopp": "",
            "rm": "--force -f",
            "stop": "--timeout",
            "logs": "--tail --since",
            "info": "",
            "version": "",
            "images": "",
            "pull": "",
            "rmi": "--prune",
        }
    ),
    "ctr": Form(
        options="--namespace",
        verbs=dict.fromkeys(("containers", "sandboxes", "content", "images", "plugins", "snapshots", "tasks"), ""),
        before="-n",
    ),
    "crio": Form(verbs={"config": ""}),
    "curl": Form("skXd"),
    "cut": Form(valued="cdf"),
    "date": Form("u"),
    "dmesg": Form(options="--ctime --level"),
    "docker": Form(verbs={"info": "--format", "ps": "-a", "rm": ""}),
    "drbdadm": Form(verbs={"status": ""}),
    "e2fsck": Form("n"),
    "find": Form(options="-delete -empty -lname -ls -maxdepth -mindepth -name -path -type -xdev -newer"),
    "findmnt": Form(options="--list --output --types --mountpoint --submounts --noheadings --source --target -R"),
    "fuser": Form(options="--verbose"),
    "grep": Form("EFcehilnorsvwq", "--fixed-strings", valued="ABC"),
    "head": Form(valued="nc"),
    "gluster": Form(verbs={"volume": ""}),
    "hostname": Form(),
    "ip": Form(verbs={"link": "", "address": "", "route": ""}),
    "iscsiadm": Form(options="-m -P"),
    "journalctl": Form(
        "kuobnpr", "--since --until --grep --no-pager --dmesg --unit --output --boot --lines --priority --reverse"
    ),
    "kill": Form(options="-USR1 -KILL -TERM -QUIT"),
    "kubeadm": Form(verbs={"certs": ""}),
    "kubectl": Form(
        before="-n",
        verbs={
            "annotate": "-n --overwrite",
            "cordon": "",
            "delete": "-n -A --force --grace-period --field-selector",
            "certificate": "-f --filename -k --kustomize -R -o -l --force",
            "describe": "-n -A --field-selector",
            "drain": "--ignore-daemonsets --delete-emptydir-data",
            "exec": "-n -c -it",
            "get": "-n -A -o -l -L --field-selector --sort-by --show-labels --selector --all-namespaces --raw --no-headers",
            "label": "-n --overwrite",
            "logs": "-n -c --since --tail --previous -l --timestamps --all-containers --since-time --ignore-errors --prefix",
            "patch": "-n -p --type",
            "rollout": "-n",
            "scale": "-n --replicas",
            "taint": "",
            "top": "-n -A --containers --sort-by",
            "uncordon": "",
            "version": "",
        },
    ),
    "losetup": Form(options="--list"),
    "ls": Form("ladhSZ"),
    "lsattr": Form("d"),
    "lsblk": Form(options="--output"),
    "lscpu": Form(),
    "lsof": Form(),
    "lsns": Form(options="--type --output"),
    "lvs": Form("ao"),
    "mount": Form(options="--bind"),
    "multipath": Form("f", "-ll"),
    "nvme": Form(verbs={"list-subsys": ""}),
    "multipathd": Form(verbs={"show": ""}),
    "mv": Form(),
    "nvidia-smi": Form(),
    "openssl": Form(
        verbs={"x509": "-noout -subject -issuer -enddate -dates -in", "s_client": "-connect -showcerts -servername"}
    ),
    "pidof": Form(),
    "pkill": Form("x", "-USR1"),
    "ps": Form("eopfL", "--no-headers --sort --forest"),
    "time": Form(),
    "reboot": Form(),
    "rpcinfo": Form("p"),
    "rm": Form("r", "--one-file-system"),
    "rmdir": Form(),
    "sort": Form("unr", valued="k"),
    "ss": Form("xlntp", "--listening --tcp --unix --numeric --processes"),
    "stat": Form("fc"),
    "swapoff": Form("a"),
    "swapon": Form(options="--show"),
    "sysctl": Form("w"),
    "systemctl": Form(
        verbs={
            **dict.fromkeys(("cat", "status", "restart", "start", "stop", "is-active"), "--no-pager --full"),
            "list-jobs": "",
            "list-units": "--all --state --type",
            "reset-failed": "",
            "show": "--no-pager --full -p",
        }
    ),
    "systemd-cgls": Form(options="--no-pager"),
    "systemd-cgtop": Form("mb", valued="n"),
    "systemd-inhibit": Form(options="--list"),
    "tail": Form(valued="n"),
    "timedatectl": Form(),
    "timeout": Form(),
    "umount": Form(options="--force --lazy"),
    "uname": Form("r"),
    "df": Form("hi"),
    "du": Form("shx", "--max-depth"),
    "blkid": Form(),
    "vgs": Form(),
    "which": Form("a"),
    "uniq": Form("c"),
    "xargs": Form("r"),
    "zfs": Form(verbs={"list": "-o"}),
    "zpool": Form(verbs={"list": "", "status": ""}),
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
    return [nested for words in map(_without_keywords, commands) if words for nested in _nested(words)]


def _without_keywords(words: list[str]) -> list[str]:
    """A command of `while read …; do …; done`: what the shell itself runs is left out."""
    while words and words[0] in {"while", "do", "done"}:
        words = words[1:]
    return [] if words[:1] == ["read"] else words


def _nested(words: list[str]) -> Iterator[list[str]]:
    begin = RUN_OTHERS.get(words[0])
    if words[0] == "find" and "-exec" in words:
        begin = words.index("-exec") + 1
        yield words[: begin - 1]
        yield from _nested([word for word in words[begin:] if word not in {"{}", "+", ";"}])
        return
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
    known = [*form.options.split(), *form.before.split()]
    if form.verbs is not None:
        verb = _verb(arguments, form.before.split())
        if verb not in form.verbs:
            yield f"{program} {verb}: no command that is known"
        known += form.verbs.get(verb, "").split()
    for word in _options(program, arguments):
        name = word.split("=")[0]
        short = not name.startswith("--") and (name[1:2] in form.valued or set(name[1:]) <= set(form.letters))
        if name not in known and not short:
            yield f"{program}: no option {name}"


def _verb(arguments: list[str], before: list[str]) -> str:
    words = iter(arguments)
    for word in words:
        if word in before:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _options(program: str, arguments: list[str]) -> Iterator[str]:
    """The words that are options; what follows `bash -c` or `--` is none."""
    for word in arguments:
        if word == "--":
            return
        if word.startswith("-") and word != "-":
            yield word
        if program == "bash" and word == "-c":
            return
