"""The parts of a life that begin and end with an event: which they are for each kind of subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.model.values import SubjectKind


class Span(NamedTuple):
    """A part of a life. `pairs` are (begin, end) kinds: the first pair is taken that was seen, else that began.

    In `a|b` a part begins with a, and again with b where that follows. `per` keeps apart the pods that share a volume
    or the containers of a pod; `once` takes the first such part of a life only; where `unless` was seen, only the
    first pair is tried. Where the part `fails`, only what ends the first pair ends it.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    per: str = ""
    once: bool = False
    unless: str = ""
    fails: str = ""


_POD = (
    Span(
        "volumes",
        (
            ("pod.volumes.mounting", "pod.volumes.mounted"),
            ("volume.verify.started", "sandbox.creating"),
            ("volume.verify.started", "cri.sandbox.running"),  # a sandbox is asked for once all volumes are there
        ),
        once=True,
    ),
    Span("sandbox", (("cri.sandbox.running", "cri.sandbox.started"), ("sandbox.creating", "sandbox.created"))),
    Span("cni", (("cri.network.adding", "cri.network.added"),)),
    Span("image pull", (("pod.image.pulling", "pod.image.pulled"),), per="image"),
    Span("create", (("cri.container.creating", "cri.container.created"),)),
    Span("start", (("cri.container.starting", "cri.container.started"),)),
    Span(
        "kill",
        (
            ("pod.terminating.entered", "pod.terminated"),
            ("pod.worker.graceful", "pod.terminated"),
            ("cri.container.stopping", "cri.sandbox.stopped"),
            ("container.killing", "container.exited"),
            ("pod.deleted", "container.finished"),
        ),
    ),
    Span(
        "grace",
        (
            ("container.killing", "container.exited"),
            ("cri.container.stopping", "cri.container.stopped"),
            ("container.killing", "container.finished"),  # told up to a second later
        ),
        per="container",
    ),
    Span(
        "unmount",
        (
            ("pod.volumes.unmounting", "pod.volumes.cleaned"),
            ("pod.finalising.entered", "pod.volumes.unmounted"),
            ("pod.volumes.waiting", "pod.volumes.cleaned"),
        ),
        fails="pod.volumes.waiting",
    ),
    Span(
        "cgroup",
        (("pod.volumes.cleaned", "pod.cgroup.removed"), ("pod.volumes.unmounted", "pod.cgroup.removed")),
        unless="pod.volumes.waiting",  # unmounted, but not yet cleaned
    ),
    Span("API delete", (("pod.worker.complete", "pod.removed"), ("pod.api-deleted", "pod.removed")), once=True),
)
_VOLUME = (
    Span(
        "attach",
        (
            ("volume.attach.started", "volume.attach.succeeded"),
            ("attacher.attaching", "attacher.attached"),
            ("csi.controllerpublish.called", "csi.controllerpublish.succeeded"),
        ),
    ),
    Span(
        "verify",
        (
            ("volume.verify.started", "volume.verify.succeeded"),
            ("volume.verify.started", "volume.publish.started"),  # nothing to verify without an attach
        ),
    ),
    Span("wait", (("volume.wait.started", "volume.wait.succeeded"),)),
    Span(
        "stage",
        (
            ("csi.nodestage.requested", "volume.stage.succeeded"),
            ("csi.nodestage.called", "csi.nodestage.succeeded"),
            ("volume.wait.succeeded", "volume.stage.succeeded"),
        ),
        fails="volume.stage.failed",
    ),
    Span(
        "publish",
        (
            ("csi.nodepublish.requested", "volume.publish.succeeded"),
            ("csi.nodepublish.called", "csi.nodepublish.succeeded"),
            ("volume.publish.started|volume.stage.succeeded", "volume.publish.succeeded"),
        ),
        per="pod",
        fails="volume.publish.failed",
    ),
    Span(
        "unpublish",
        (
            ("volume.unpublish.started", "volume.unpublish.succeeded"),
            ("csi.nodeunpublish.requested", "csi.nodeunpublish.answered"),
            ("csi.nodeunpublish.called", "csi.nodeunpublish.succeeded"),
        ),
        per="pod",
        fails="volume.unpublish.failed",
    ),
    Span(
        "unstage",
        (
            ("volume.unstage.started", "volume.unstage.succeeded"),
            ("csi.nodeunstage.called", "csi.nodeunstage.succeeded"),
        ),
        fails="volume.unstage.failed",
    ),
    Span("release", (("volume.unpublish.succeeded", "volume.released"),)),
    Span(
        "detach",
        (
            ("volume.detach.started", "volume.detach.succeeded"),
            ("attacher.detaching", "attacher.detached"),
            ("csi.controllerunpublish.called", "csi.controllerunpublish.succeeded"),
        ),
    ),
)
_SANDBOX = (Span("stop", (("cri.sandbox.stopping", "cri.sandbox.stopped"),)),)
_CONTAINER = (
    Span("start", (("cri.container.starting", "cri.container.started"),)),
    Span("kill", (("cri.container.stopping", "cri.container.stopped"), ("container.killing", "container.exited"))),
)
SPANS: Mapping[SubjectKind, tuple[Span, ...]] = {
    SubjectKind.POD: _POD,
    SubjectKind.VOLUME: _VOLUME,
    SubjectKind.SANDBOX: _SANDBOX,
    SubjectKind.CONTAINER: _CONTAINER,
}
