"""What was mounted below kubelet's folder, from `mount`, `findmnt`, /proc/mounts or /proc/self/mountinfo.

/dev/sdb on /var/lib/kubelet/pods/1f0c3a52-…/volumes/kubernetes.io~csi/pvc-77aa11cc-…/mount type ext4 (rw,relatime)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.names import refs_of
from kvdiag.events.snapshots.fact import SnapshotFact

_OPENING = lazy_regex(
    r"""\s*(?:
        \S+\ on\ /\S*\ type\ \S+\ \(           # mount
      | TARGET\s+SOURCE\s+FSTYPE               # findmnt
      | \S+\ /\S*\ \S+\ r[wo]\S*\ \d\ \d\n     # /proc/mounts
      | \d+\ \d+\ \d+:\d+\ /\S*\ /\S*\ r[wo]   # /proc/self/mountinfo
    )""",
    re.VERBOSE,
)
_STAGED = r"plugins/kubernetes\.io/csi/[^\s]{1,300}/globalmount"
_PATH = lazy_regex(rf"(?:^|[\s─-])(/[^\s]{{1,300}}/(?:pods/[0-9a-f-]{{36}}/volumes/[^\s]{{1,300}}|{_STAGED}))(?=\s|$)")
_OCTAL = lazy_regex(r"\\([0-7]{3})")  # how the kernel writes spaces in paths


def opens(_name: str, head: str) -> bool:
    """Whether a text begins as a list of mounts."""
    return _OPENING.match(head) is not None


def read(text: str) -> Iterator[SnapshotFact]:
    """Give each mount of a pod's volume and of a staged one."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = _PATH.search(line)
        if not found:
            continue
        path = _OCTAL.sub(lambda code: chr(int(code[1], 8)), found[1])
        place = "staging_path" if path.endswith("/globalmount") else "target_path"
        yield SnapshotFact(number, "mount.found", line.strip(), refs_of(place, path.encode()))
