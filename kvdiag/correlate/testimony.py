"""What one source said, before it is compared with the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from kvdiag.events.recognise import Sighting
from kvdiag.model.place import NOWHERE, Place

DRIVER = "csi-driver"
SIDECARS = ("external-attacher", "external-provisioner", "external-resizer", "node-driver-registrar")
BY_NAME = (
    ("kubelet", "kubelet"),
    ("containerd", "containerd"),
    ("attacher", SIDECARS[0]),
    ("provisioner", SIDECARS[1]),
    ("resizer", SIDECARS[2]),
    ("registrar", SIDECARS[3]),
    ("controller-manager", "kube-controller-manager"),
    ("kube-scheduler", "kube-scheduler"),
    ("kube-apiserver", "kube-apiserver"),
    ("kube-proxy", "kube-proxy"),
    ("csi", DRIVER),
    ("dmesg", "kernel"),
    ("kern.log", "kernel"),
    ("cri-o", "crio"),
    ("crio", "crio"),
)


def called(source: str) -> str:
    """The component that an input's name speaks of; empty when it speaks of none."""
    name = source.rsplit("/", 1)[-1].lower()
    return next((component for word, component in BY_NAME if word in name), "")


class Testimony(NamedTuple):
    """One input's sightings in line order, on the input's own clock.

    `first` and `last` are the stamps of the first and last line that has a time (microseconds, maybe year-less).
    `preamble_year` is what a klog file's header says, `said_year` what a line near the beginning says in its message;
    `modified` is the file's date in seconds since 1970; `place` what its path says of its node and container.
    """

    source: str
    sightings: Sequence[Sighting]
    first: int | None
    last: int | None
    lines: int
    wordings: frozenset[int] = frozenset()
    yearless: bool = False
    preamble_year: int | None = None
    said_year: int | None = None
    modified: float | None = None
    place: Place = NOWHERE

    @property
    def component(self) -> str:
        """Who mostly speaks here: by what was recognised, else by the container's or input's name."""
        named = called(self.place.container or self.source)
        own = Counter(s.meaning.entry.component for s in self.sightings if not s.meaning.entry.is_call)
        del own[""]
        if named in own:
            return named
        said = own.most_common(1)[0][0] if own else ""
        if said == DRIVER or not said:  # sidecars print a driver's words: what it is called, what it was asked
            sidecar = named if named in SIDECARS else ""
            calls = DRIVER if any(s.meaning.entry.is_call for s in self.sightings) else ""
            return sidecar or said or calls or named
        return said
