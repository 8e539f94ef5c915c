"""The life of a volume on a node, by mode.

    ABSENT → DESIRED → ATTACHING → ATTACHED → STAGING → STAGED → PUBLISHING → PUBLISHED{pods}
      → UNPUBLISHING → UNPUBLISHED → UNSTAGING → UNSTAGED → RELEASED → DETACHING → DETACHED

The modes leave out states: without attach ATTACHING, ATTACHED, DETACHING and DETACHED; without staging STAGING,
STAGED, UNSTAGING and UNSTAGED; local and inline volumes all of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.lifecycles.machine import ALL, Machine, OrderConstraint, Step, states

# What a second pod, a remount or another poll does not undo.
_MOUNTED = states("STAGING STAGED PUBLISHING PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGING UNSTAGED")
_IN_USE = _MOUNTED | states("ATTACHED")
_PUBLISHED, _STAGED = states("PUBLISHED"), states("STAGED")

_DESIRED: Mapping[str, Step] = {
    "volume.desired.added": Step("a pod needs the volume", "DESIRED", _IN_USE | states("ATTACHING")),
    "volume.desired.removed": Step("the pod no longer needs the volume"),
    "volume.desired.failed": Step("the kubelet cannot tell what the volume is"),
    "volume.desired.kept": Step("the volume stays, since its pod has containers"),
}
_ATTACH: Mapping[str, Step] = {
    "volume.attach.started": Step("AttachVolume started", "ATTACHING", _IN_USE, proves=False),
    "volume.attachment.created": Step("VolumeAttachment created", "ATTACHING", _IN_USE, proves=False),
    "attacher.attaching": Step("ControllerPublish to be called", "ATTACHING", _IN_USE, proves=False),
    "csi.controllerpublish.called": Step("ControllerPublish called", "ATTACHING", _IN_USE, proves=False),
    "csi.controllerpublish.succeeded": Step("ControllerPublish succeeded", "ATTACHED", _IN_USE),
    "csi.controllerpublish.failed": Step("ControllerPublish failed"),
    "attacher.attached": Step("attached, says the attacher", "ATTACHED", _IN_USE),
    "attacher.failed": Step("attach or detach failed"),
    "volume.attach.succeeded": Step("AttachVolume succeeded", "ATTACHED", _IN_USE),
    "volume.attach.failed": Step("AttachVolume failed"),
    "volume.attach.timeout": Step("the attacher did not answer in time"),
    "volume.multi-attach": Step("the volume is attached to another node"),
    "volume.verify.started": Step("the kubelet asks whether it is attached"),
    "volume.verify.succeeded": Step("attached, says the controller", "ATTACHED", _IN_USE),
    "volume.verify.failed": Step("not attached yet"),
    "volume.wait.started": Step("the kubelet waits for the device"),
    "volume.wait.succeeded": Step("the device is there", "ATTACHED", _IN_USE),
    "volume.wait.failed": Step("the device did not appear"),
    "volume.map.wait.started": Step("the kubelet waits for the device"),
    "volume.map.wait.succeeded": Step("the device is there", "ATTACHED", _IN_USE),
}
_DETACH: Mapping[str, Step] = {
    "volume.detach.started": Step("DetachVolume started", "DETACHING"),
    "volume.detach.safe": Step("the node no longer reports the volume as in use"),
    "volume.detach.waiting": Step("the node still reports the volume as in use"),
    "volume.detach.forced": Step("detached by force", "DETACHING", forgets=ALL),
    "volume.detach.succeeded": Step("DetachVolume succeeded", "DETACHED"),
    "volume.detach.failed": Step("DetachVolume failed"),
    "volume.attachment.deleting": Step("VolumeAttachment to be deleted", "DETACHING"),
    "volume.attachment.deleted": Step("VolumeAttachment deleted", "DETACHED"),
    "attacher.detach-started": Step("the attachment is to be deleted", "DETACHING"),
    "attacher.detaching": Step("ControllerUnpublish to be called", "DETACHING"),
    "attacher.driver-detached": Step("detached, says the driver", "DETACHED"),
    "attacher.detached": Step("detached, says the attacher", "DETACHED"),
    "attacher.already-detached": Step("was detached before", "DETACHED"),
    "csi.controllerunpublish.called": Step("ControllerUnpublish called", "DETACHING"),
    "csi.controllerunpublish.succeeded": Step("ControllerUnpublish succeeded", "DETACHED"),
    "csi.controllerunpublish.failed": Step("ControllerUnpublish failed"),
}
_STAGE: Mapping[str, Step] = {
    "volume.publish.started": Step("MountVolume started", "STAGING", _STAGED | _PUBLISHED, proves=False),
    "csi.nodestage.requested": Step("NodeStage requested", "STAGING", _PUBLISHED, proves=False),
    "csi.nodestage.answered": Step("NodeStage succeeded", "STAGED", _PUBLISHED),
    "volume.stage.succeeded": Step("MountDevice succeeded", "STAGED", _PUBLISHED),
    "volume.stage.succeeded:first": Step("MountDevice succeeded", "STAGED", _PUBLISHED, proves=False),  # see lives.py
    "volume.stage.failed": Step("NodeStage failed", may=_STAGED),
    "volume.stage.uncertain": Step("whether it is staged is not known", proves=False, forgets=_STAGED),
}
_UNSTAGE: Mapping[str, Step] = {
    "volume.unstage.started": Step("UnmountDevice started", "UNSTAGING", proves=False),
    "csi.nodeunstage.requested": Step("NodeUnstage requested", "UNSTAGING", proves=False),
    "csi.nodeunstage.answered": Step("NodeUnstage succeeded", "UNSTAGED"),
    "volume.unstage.succeeded": Step("UnmountDevice succeeded", "UNSTAGED"),
    "volume.unstage.skipped": Step("nothing to unstage", "UNSTAGED"),
    "volume.unstage.failed": Step("NodeUnstage failed"),
    "csi.nodeunstage.still-published": Step("the driver will not unstage a published volume"),
    "csi.volume-data.unreadable": Step("what to unstage cannot be read"),
}
_PUBLISH: Mapping[str, Step] = {
    "volume.publish.started": Step("MountVolume started", "PUBLISHING", _PUBLISHED, proves=False),
    "csi.nodepublish.requested": Step("NodePublish requested", "PUBLISHING", _PUBLISHED, proves=False),
    "csi.nodepublish.answered": Step("NodePublish succeeded", "PUBLISHED", holds=1),
    "volume.publish.succeeded": Step("MountVolume succeeded", "PUBLISHED", holds=1),
    "volume.publish.failed": Step("NodePublish failed", may=_PUBLISHED),
    "volume.uncertain": Step("whether it is mounted is not known", proves=False, forgets=_PUBLISHED),
    "volume.operation.failed": Step("another operation failed"),
    "volume.operation.refused": Step("an operation could not begin"),
    "csi.operation.pending": Step("the driver still works on an earlier call"),
}
_UNPUBLISH: Mapping[str, Step] = {
    "volume.unpublish.started": Step("UnmountVolume started", "UNPUBLISHING", holds=-1, proves=False),
    "csi.nodeunpublish.requested": Step("NodeUnpublish requested", "UNPUBLISHING", holds=-1, proves=False),
    "csi.nodeunpublish.answered": Step("NodeUnpublish succeeded", "UNPUBLISHED", holds=-1),
    "volume.unpublish.succeeded": Step("UnmountVolume succeeded", "UNPUBLISHED", holds=-1),
    "volume.unpublish.failed": Step("NodeUnpublish failed"),
    "volume.unmounter.failed": Step("the one unmount after the restart failed"),
    "csi.nodeunpublish.not-published": Step("not published, says the driver"),
    "volume.reconstruct.succeeded": Step("found on disk", "PUBLISHED", holds=1, proves=False),
    "volume.reconstruct.device": Step("its device was found on disk", proves=False),
    "volume.reconstruct.failed": Step("the kubelet cannot tell from disk what it is", proves=False, forgets=ALL),
    "volume.reconstruct.cleanup": Step("unmounted once", "UNPUBLISHING", proves=False),
    "volume.reconstruct.unwanted": Step("no pod needs it, so it is unmounted", "UNPUBLISHING", proves=False),
    "volume.reconstruct.wanted": Step("a pod needs it, so it stays", proves=False),
    "volume.released": Step("the kubelet lets go of the volume", "RELEASED"),
    "volume.expand.started": Step("expansion started"),
    "volume.expand.succeeded": Step("expanded"),
    "volume.expand.failed": Step("expansion failed"),
}
_MAP: Mapping[str, Step] = {
    "volume.map.global": Step("the block device is there for the node"),
    "volume.map.succeeded": Step("MapVolume succeeded", "PUBLISHED", holds=1),
}
# The driver's own log: it only accompanies kubelet's lines, and leads where kubelet said nothing of the volume.
_DRIVER: Mapping[str, Step] = {
    "csi.nodestage.called": Step("NodeStage called", "STAGING", _PUBLISHED, proves=False),
    "csi.nodestage.succeeded": Step("NodeStage succeeded", "STAGED", _PUBLISHED),
    "csi.nodestage.already": Step("staged before, says the driver", "STAGED", _PUBLISHED),
    "csi.nodestage.failed": Step("NodeStage failed", may=_STAGED),
    "csi.nodepublish.called": Step("NodePublish called", "PUBLISHING", _PUBLISHED, proves=False),
    "csi.nodepublish.succeeded": Step("NodePublish succeeded", "PUBLISHED", holds=1),
    "csi.nodepublish.failed": Step("NodePublish failed", may=_PUBLISHED),
    "csi.nodeunpublish.called": Step("NodeUnpublish called", "UNPUBLISHING", holds=-1, proves=False),
    "csi.nodeunpublish.unmounted": Step("unpublished, says the driver"),
    "csi.nodeunpublish.succeeded": Step("NodeUnpublish succeeded", "UNPUBLISHED", holds=-1),
    "csi.nodeunpublish.failed": Step("NodeUnpublish failed"),
    "csi.nodeunstage.called": Step("NodeUnstage called", "UNSTAGING", proves=False),
    "csi.nodeunstage.succeeded": Step("NodeUnstage succeeded", "UNSTAGED"),
    "csi.nodeunstage.not-staged": Step("not staged, says the driver"),
    "csi.nodeunstage.failed": Step("NodeUnstage failed"),
}
_BESIDE = {kind: Step(step.says, proves=False) for kind, step in _DRIVER.items()}

_LET_GO = (OrderConstraint("RELEASED", "PUBLISHED", "UNPUBLISHED"),)
_STAGED_ONCE = (
    OrderConstraint("UNSTAGING", "PUBLISHED", "UNPUBLISHED"),
    OrderConstraint("RELEASED", "STAGED", "UNSTAGED"),  # V3
    OrderConstraint("DETACHING", "STAGED", "UNSTAGED"),  # V4
    OrderConstraint("DETACHED", "STAGED", "UNSTAGED"),
    OrderConstraint("PUBLISHED", "UNSTAGING", "STAGED"),  # V1, V5
)
_WAITS: Mapping[str, str] = {
    "DESIRED": "the kubelet to mount the volume",
    "ATTACHING": "ControllerPublishVolume",
    "ATTACHED": "the kubelet to mount the volume",
    "STAGING": "NodeStageVolume",
    "STAGED": "NodePublishVolume",
    "PUBLISHING": "NodePublishVolume",
    "UNPUBLISHING": "NodeUnpublishVolume",
    "UNPUBLISHED": "the kubelet to release the volume",
    "UNSTAGING": "NodeUnstageVolume",
    "UNSTAGED": "the kubelet to release the volume",
    "RELEASED": "ControllerUnpublishVolume",
    "DETACHING": "ControllerUnpublishVolume",
}
_STAGING_WAITS = {**_WAITS, "UNPUBLISHED": "NodeUnstageVolume"}
_LOCAL_WAITS = {
    **_WAITS,
    "DESIRED": "the volume to be set up",
    "PUBLISHING": "the volume to be set up",
    "UNPUBLISHING": "the volume to be torn down",
}


def _machine(name: str, *, attach: bool, stage: bool, driver_leads: bool) -> Machine:
    """One mode. Later tables win: with staging a mount begins by staging, without it by publishing."""
    steps = {**_DESIRED, **_ATTACH, **_DETACH, **_UNPUBLISH, **_MAP, **(_DRIVER if driver_leads else _BESIDE)}
    staging = {**_PUBLISH, **_STAGE, **_UNSTAGE}
    skipped = {kind: Step(step.says, proves=False) for kind, step in {**_STAGE, **_UNSTAGE}.items()}
    ends = states("ABSENT PUBLISHED DETACHED") | (frozenset() if attach else states("RELEASED"))
    if driver_leads:  # what only the kubelet does cannot be waited for
        ends |= states("ATTACHED UNSTAGED") if stage else states("ATTACHED UNPUBLISHED")
    local = name.endswith("local")
    return Machine(
        name=name,
        steps=steps | (staging if stage else {**skipped, **_PUBLISH}),
        musts=_LET_GO + (_STAGED_ONCE if stage else ()),
        ends=ends,
        waits=_LOCAL_WAITS if local else _STAGING_WAITS if stage else _WAITS,
        outage="csi-driver" if driver_leads else "kubelet",
    )


STAGING = {"volume/filesystem", "volume/block", "volume/migrated", "volume/non-attachable"}
NAMES = (*sorted(STAGING), "volume/non-staging", "volume/publish-only", "volume/inline", "volume/local")
# by mode, whether a controller's log shows attach and detach, and whether only the driver's log shows the volume
MACHINES: Mapping[tuple[str, bool, bool], Machine] = {
    (name, attach, driver_leads): _machine(name, attach=attach, stage=name in STAGING, driver_leads=driver_leads)
    for name in NAMES
    for attach in (False, True)
    for driver_leads in (False, True)
}
