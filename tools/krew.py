"""Write dist/kubectl-kvdiag.tar.gz and dist/kvdiag.yaml, by which krew installs `kubectl kvdiag`.

    python -m tools.krew https://github.com/OWNER/NAME

The archive holds dist/kvdiag.pyz, which `make pyz` built, the program that kubectl calls, and the license. The manifest
has the format of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest; its archive is that of the release.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

from kvdiag import __version__

ROOT = Path(__file__).parents[1]
ARCHIVE = "kubectl-kvdiag.tar.gz"
FILES = ("dist/kvdiag.pyz", "contrib/krew/kubectl-kvdiag", "LICENSE")
DESCRIPTION = """\
Fetches the logs of a node's kubelet and container runtime through the API server (node log query, a feature
of kubelet that must be on) and analyzes them on this machine: the cause of a pod that is stuck, a volume that
does not mount or a node that is not ready, with evidence and the steps to repair it.
"""


def archive() -> bytes:
    """Return the archive; the same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as out:
        for path in map(ROOT.joinpath, FILES):
            member = tarfile.TarInfo(path.name)
            member.size, member.mode = path.stat().st_size, 0o644 if path.name == "LICENSE" else 0o755
            out.addfile(member, io.BytesIO(path.read_bytes()))
    return gzip.compress(packed.getvalue(), mtime=0)


def manifest(home: str, sha256: str) -> dict[str, object]:
    """Return the manifest for an archive with this checksum in the release of this version below `home`."""
    systems = {"key": "os", "operator": "In", "values": ["linux", "darwin"]}
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "kvdiag"},
        "spec": {
            "version": f"v{__version__}",
            "homepage": home,
            "shortDescription": "Find root causes in the logs of nodes",
            "description": DESCRIPTION,
            "caveats": "Needs Python 3.11 or newer on this machine.\n",
            "platforms": [
                {
                    "selector": {"matchExpressions": [systems]},
                    "uri": f"{home}/releases/download/v{__version__}/{ARCHIVE}",
                    "sha256": sha256,
                    "bin": "kubectl-kvdiag",
                }
            ],
        },
    }


def main(home: str) -> None:
    """Write both files. JSON is YAML, and needs no library."""
    packed = archive()
    (ROOT / "dist" / ARCHIVE).write_bytes(packed)
    text = json.dumps(manifest(home, hashlib.sha256(packed).hexdigest()), indent=2)
    (ROOT / "dist/kvdiag.yaml").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
