"""The image of the Containerfile, built by buildah on a base of Debian's packages, as no registry is reached here.

The steps alone are run in test_package.py, wherever there is a Python.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TOOLS = ("buildah", "debootstrap")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)) or os.geteuid() != 0, reason="no image is built: buildah and debootstrap, as root"
)
ISOLATION = ("--isolation", "chroot", "--network", "host")


class Builder:
    """Buildah with its images below a folder."""

    def __init__(self, folder: Path) -> None:
        self._words = ["buildah", "--root", folder / "images", "--runroot", folder / "run", "--storage-driver", "vfs"]

    def __call__(self, *words: object) -> str:
        """Run a command of buildah; return what it printed."""
        command = [*self._words, *map(str, words)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout.strip()


@pytest.fixture(scope="module")
def buildah(tmp_path_factory):
    """Give a builder with the base: Debian with Python, and the certificates that this machine trusts."""
    folder = tmp_path_factory.mktemp("image")
    packages = "python3,python3-venv,ca-certificates"
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", folder / "base"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-2000:]
    if trusted := os.environ.get("SSL_CERT_FILE"):
        shutil.copy(trusted, folder / "base/etc/ssl/certs/ca-certificates.crt")
        (folder / "base/etc/pip.conf").write_text("[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n")
    builder = Builder(folder)
    container = builder("from", "scratch")
    builder("copy", "--quiet", container, folder / "base", "/")
    builder("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", container)
    builder("commit", "--quiet", "--rm", container, "localhost/base")
    shutil.rmtree(folder / "base")
    arguments = ["--build-arg", "BASE=localhost/base", "--build-arg", "EXTRAS=mcp"]
    builder("bud", *ISOLATION, *arguments, "-t", "localhost/kvdiag", "-f", "Containerfile", ".")
    yield builder
    shutil.rmtree(folder)


def test_the_image_analyzes_logs(buildah, tmp_path):
    """As a user that is not root; also a binary journal; with the optional part."""
    (tmp_path / "logs").mkdir()
    shutil.copytree(ROOT / "sample-logs/kubelet-no-runtime-endpoint", tmp_path / "logs/sick")
    packed = ROOT / "tests/data/journal/node.journal.zst"
    (tmp_path / "logs/system.journal").write_bytes(zstd.decompress(packed.read_bytes()))
    tmp_path.chmod(0o755)
    run = ["run", "--isolation", "chroot", "--volume", f"{tmp_path}/logs:/logs:ro", buildah("from", "localhost/kvdiag")]
    assert buildah(*run, "--", "id", "-u") == "65532"
    report = json.loads(buildah(*run, "--", "kvdiag", "analyze", "-o", "json", "/logs/sick"))
    assert [one["rule"] for one in report["findings"]][:1] == ["kubelet-runtime-endpoint-missing"]
    assert "worker-7" in buildah(*run, "--", "kvdiag", "parse", "/logs/system.journal")
    assert buildah(*run, "--", "/opt/kvdiag/bin/python3", "-c", "import mcp; print('mcp')") == "mcp"


def test_the_image_holds_what_it_needs(buildah):
    """Nothing of the checkout is in a layer; labels say what it is; it runs kvdiag."""
    container = buildah("from", "localhost/kvdiag")
    tree = Path(buildah("mount", container))
    assert not (tree / "src").exists()
    assert not [path for name in ("sample-logs", "bench", ".git") for path in (tree / "opt").rglob(name)]
    about = json.loads(buildah("inspect", "localhost/kvdiag"))["OCIv1"]["config"]
    assert (about["User"], about["Entrypoint"]) == ("65532:65532", ["kvdiag"])
    assert about["Labels"]["org.opencontainers.image.title"] == "kvdiag"
    assert about["Labels"]["org.opencontainers.image.licenses"] == "Apache-2.0"
