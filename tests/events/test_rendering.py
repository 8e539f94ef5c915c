"""Lines that are made of the vocabulary's samples say what they were made to say."""

from __future__ import annotations

import re
from functools import cache

import pytest

from kvdiag.base.errors import PatternError
from kvdiag.events.rendering import (
    LISTED,
    FixturePod,
    Spellings,
    can_render,
    idle_line,
    is_renderable,
    render,
    render_call,
)
from kvdiag.events.template import compile_wording
from kvdiag.events.vocabulary import make_vocabulary
from kvdiag.model.vocabulary import CRASH, Entry, Wording
from tests.patterns import vocabulary

MOMENT = 1_710_230_400_123_456  # 12 March 2024, 08:00:00.123456
OTHER = FixturePod.named("other")


@cache
def spellings():
    """Give its spellings."""
    return Spellings(vocabulary())


def test_every_wording_can_be_told():
    """Each wording that stands in a log is told of another pod, and its line matches that wording."""
    told = {}
    for kind, entry in vocabulary().kinds.items():
        for spelling in spellings().of_kind(kind) if not entry.reader else ():
            line, wording = render(spelling, {}, OTHER, MOMENT).encode(), spelling.wording
            anchors = re.finditer(re.escape(wording.anchor.encode()), line)
            matcher = compile_wording(wording)
            assert any(matcher.match(line, anchor.start()) is not None for anchor in anchors), (kind, line)
            told[spelling.wording.place] = spelling
    for wording, owner in zip(vocabulary().wordings, vocabulary().owners, strict=True):
        entry = vocabulary().entries[owner]
        is_in_a_log = LISTED.strip('"') not in wording.message and not entry.reader and entry.kind != CRASH
        assert wording.place in told or not is_in_a_log, wording


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("volume.unpublish.failed", "E0312 08:00:00.123456 "),
        ("cri.sandbox.removed", 'time="2024-03-12T08:00:00.123456Z" '),
        ("kubelet.exited", "Mar 12 08:00:00 worker-1 systemd[1]: "),
        ("kernel.oom-node", "Mar 12 08:00:00 worker-1 kernel: Out of memory"),
        ("cni.config.missing", 'E0312 08:00:00.123456    1432 log.go:32] "Request failed" err="'),
    ],
)
def test_when(kind, begins):
    """A line has the time it is given, in the form of what prints it."""
    assert render(spellings().of_kind(kind)[0], {}, OTHER, MOMENT).startswith(begins)


def test_whom():
    """All names on a line are those of its cast, in every form."""
    line = render(spellings().of_kind("volume.unpublish.failed")[0], {}, OTHER, MOMENT)
    first = FixturePod.named("").names
    assert not [kind for kind in ("pod_uid", "volume_handle", "spec_name") if first[kind] in line]
    assert OTHER.names["unique_name"] in line
    assert f'pod "{OTHER.names["pod_uid"]}"' in line or f"podName:{OTHER.names['pod_uid']}" in line


def test_values():
    """A value stands where the sample has one, its quotes escaped as deep as the place asks."""
    spelling = next(one for one in spellings().of_kind("pod.sync.failed") if 'err="' in one.sample)
    assert r'err="say \"no\""' in render(spelling, {"error": 'say "no"'}, OTHER, MOMENT)


def test_what_cannot_be_said():
    """A wording without a place for a value is not taken for one that has it."""
    spelling = spellings().of_kind("volume.unpublish.succeeded")[0]
    assert not can_render(spelling, ["error"])
    with pytest.raises(PatternError, match="has no place for 'error'"):
        render(spelling, {"error": "x"}, OTHER, MOMENT)


def test_a_line_of_a_rule():
    """What has no samples is its own template."""
    wording = Wording(anchor="my driver says", message="my driver says {error}[[, twice]]", fields={"pod": "pod"})
    entry = Entry(kind="line.mine.boom", component="", wordings=(wording,))
    (spelling,) = Spellings(make_vocabulary([entry])).of_kind("line.mine.boom")
    assert render(spelling, {}, OTHER, MOMENT).endswith('] my driver says x, twice pod="shop/other"')


@pytest.mark.parametrize("component", ["kubelet", "containerd", "kernel", "csi-driver"])
def test_a_line_that_means_nothing(component):
    """No wording is found in it."""
    assert list(vocabulary().readings(idle_line(component, MOMENT).encode())) == []


def test_a_call():
    """A call is told by what drivers print of it; its answer alone where it was told before."""
    entry = vocabulary().kinds["csi.nodestage.failed"]
    assert is_renderable(entry)
    whole = render_call(entry, {"error": "rpc error: code = Internal desc = no"}, OTHER, MOMENT, is_requested=False)
    assert [line.partition("] ")[2].partition(":")[0] for line in whole] == ["GRPC call", "GRPC request", "GRPC error"]
    assert OTHER.names["staging_path"] in whole[1]
    assert len(render_call(entry, {}, OTHER, MOMENT, is_requested=True)) == 1
    with pytest.raises(PatternError, match="only one that failed"):
        render_call(vocabulary().kinds["csi.nodestage.succeeded"], {"error": "x"}, OTHER, MOMENT, is_requested=False)
