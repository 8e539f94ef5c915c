"""The scanner is the fastest that is safe, or the one that was asked for."""

from __future__ import annotations

import pytest

from kvdiag.base.errors import UsageError
from kvdiag.inputs.scan import hyper
from kvdiag.inputs.scan.choose import VARIABLE, make_scanner


@pytest.fixture(autouse=True)
def _unset(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def processor(monkeypatch, tmp_path):
    """Pretend to run on another processor."""

    def pretend(flags):
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
        monkeypatch.setattr(hyper, "_CPUINFO", cpuinfo)
        uname = type("Uname", (), {"machine": "x86_64", "sysname": "Linux"})
        monkeypatch.setattr(hyper.os, "uname", lambda: uname)

    return pretend


@pytest.mark.parametrize("name", ["stdlib", "hyperscan"])
def test_asked_for(monkeypatch, name):
    """The variable names the scanner."""
    monkeypatch.setenv(VARIABLE, name)
    assert make_scanner([b"x"]).name == name


def test_unknown(monkeypatch):
    """A name that is no scanner's is refused with those that are."""
    monkeypatch.setenv(VARIABLE, "grep")
    with pytest.raises(UsageError, match="use stdlib or hyperscan"):
        make_scanner([b"x"])


def test_default_without_the_package(monkeypatch):
    """Without the extra the standard library scans."""
    monkeypatch.setattr(hyper, "is_installed", lambda: False)
    assert make_scanner([b"x"]).name == "stdlib"


def test_asked_for_without_the_package(monkeypatch):
    """Wanting what is not installed says how to install it."""
    monkeypatch.setenv(VARIABLE, "hyperscan")
    monkeypatch.setattr(hyper, "is_installed", lambda: False)
    with pytest.raises(UsageError, match=r"pip install 'kvdiag\[fast\]'"):
        make_scanner([b"x"])


def test_processor_without_sse42(monkeypatch, processor):
    """A processor that would die of the import never sees it."""
    processor("fpu sse sse2 ssse3 sse4_1")
    assert make_scanner([b"x"]).name == "stdlib"
    monkeypatch.setenv(VARIABLE, "hyperscan")
    with pytest.raises(UsageError, match=r"lacks SSE4\.2"):
        make_scanner([b"x"])


def test_processor_with_sse42(processor):
    """SSE4.2 is all it takes."""
    processor("fpu sse4_1 sse4_2")
    assert hyper.is_safe()


def test_no_cpuinfo(monkeypatch, processor, tmp_path):
    """What cannot be looked up counts as missing."""
    processor("sse4_2")
    monkeypatch.setattr(hyper, "_CPUINFO", tmp_path / "absent")
    assert not hyper.is_safe()
