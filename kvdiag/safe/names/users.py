r"""Find names of people: in home directories, and in tables of processes and commands.

    /home/jdoe/.kube/config    /Users/jdoe/.minikube    C:\\Users\\J. Doe\\.minikube\\profiles

    | Command |      Args       | Profile  |  User  | Version |     Start Time      |      End Time       |
    | start   | --driver=docker | minikube | jdoe   | v1.36.0 | 11 Aug 25 09:39 UTC |                     |

    USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
    jdoe        4711  0.0  0.1  12345  6789 ?        Ss   05:49   0:00 bash

The first table is minikube's Audit; on Windows its user is `HOST\jdoe`. The second is that of `ps aux`, or `ps -ef`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"[^\s\\/:\"'<>|*?,;=()\[\]{}`$&#%]{2,64}"
_SPACED = r"[^\\/:\"'<>|*?,;=()\[\]{}`$&#%\r\n\t]{2,64}"  # with blanks only where the path goes on
_SEPARATOR = r"(?:\\{1,8}|/)"
_HOME = re.compile(
    rf"(?:(?<![\w.-])/home/({_NAME})|(?<![\w.:-])/Users/({_SPACED}(?=/)|{_NAME})"
    rf"|(?<!\w)[A-Za-z]:{_SEPARATOR}Users{_SEPARATOR}({_SPACED}(?={_SEPARATOR})|{_NAME}))"
)
# Accounts that are not of a person.
_SHARED = frozenset(("root", "docker", "shared", "public", "default", "all users", "user", "username"))
# System accounts in the output of `ps`.
_NAMES_OF_SYSTEM = """
    _apt _chrony _rpc adm avahi backup bin chrony cockpit core daemon dbus dnsmasq etcd games gnats irc kernoops list lp
    lxd mail man message+ messagebus named news nfsnobody nobody ntp polkitd postfix proxy rpc rpcuser rtkit sshd sssd
    statd sync sys syslog systemd+ tcpdump tss unscd uucp uuidd www-data
"""
_OF_SYSTEM = frozenset(_NAMES_OF_SYSTEM.split())


class Users:
    """Finds the names of people; the header of a table decides, so lines must be passed in order."""

    def __init__(self) -> None:
        self._column = -1
        self._cells = 0
        self._is_processes = False

    def names_in(self, text: str) -> Iterator[str]:
        """Yield the names in the next line."""
        has_home = "/home/" in text or "Users" in text
        found = [name for match in _HOME.finditer(text) for name in match.groups() if name] if has_home else []
        found.extend(self._in_table(text))
        found.extend(self._of_process(text))
        for name in found:
            stripped = name.strip(" .-_")
            if len(stripped) > 1 and stripped.lower() not in _SHARED and not stripped.isdecimal():
                yield stripped

    def _in_table(self, text: str) -> Iterator[str]:
        cells = [cell.strip() for cell in text.strip("\r\n *").strip("|").split("|")] if "|" in text else []
        if not text.lstrip(" *").startswith("|"):
            self._column = -1
        elif "User" in cells and "Command" in cells:
            self._column, self._cells = cells.index("User"), len(cells)
        elif 0 <= self._column < len(cells) == self._cells:
            yield from filter(None, re.split(r"\\+", cells[self._column])[-1:])

    def _of_process(self, text: str) -> Iterator[str]:
        words = text.split(None, 7)
        if words[:2] in (["USER", "PID"], ["UID", "PID"]):
            self._is_processes = True
        elif len(words) < 8 or not words[1].isdecimal() or text[:1] == "-":
            self._is_processes = False
        elif self._is_processes and not (words[0].startswith("systemd-") or words[0] in _OF_SYSTEM):
            yield words[0]
