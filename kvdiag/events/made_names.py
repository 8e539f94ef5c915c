"""Names that kubelet makes of others: of staging paths, VolumeAttachments and inline volumes."""

from __future__ import annotations

import hashlib


def staging_hash(volume_handle: str) -> str:
    """Return the folder name of a staging path since 1.24: sha256 of the handle."""
    return hashlib.sha256(volume_handle.encode()).hexdigest()


def staging_path(root: str, driver: str, volume_handle: str) -> str:
    """Return the staging path of a filesystem volume since 1.24; `root` is usually /var/lib/kubelet."""
    return f"{root.rstrip('/')}/plugins/kubernetes.io/csi/{driver}/{staging_hash(volume_handle)}/globalmount"


def attachment_name(volume_handle: str, driver: str, node: str) -> str:
    """Return the name of the VolumeAttachment; kubelet prints it as DevicePath."""
    return "csi-" + hashlib.sha256(f"{volume_handle}{driver}{node}".encode()).hexdigest()


def inline_handle(pod_uid: str, volume_name: str) -> str:
    """Return the handle that kubelet generates for an inline ephemeral volume of a pod."""
    return "csi-" + hashlib.sha256(f"{pod_uid}{volume_name}".encode()).hexdigest()
