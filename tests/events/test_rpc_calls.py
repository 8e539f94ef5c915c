"""gRPC lines of a driver become events: what was called, with which names, and how it ended."""

from __future__ import annotations

from functools import cache

import pytest

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.recognise import Recogniser
from kvdiag.events.rpc_calls import calls
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.inputs.scan.choose import make_scanner

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
TARGET = f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-1/mount"
REQUEST = f'{{"target_path":"{TARGET}","volume_id":"vol-1"}}'


@cache
def known():
    """Give the vocabulary and a scanner for its literals."""
    vocabulary = load_vocabulary(builtin_patterns() / "events")
    return vocabulary, make_scanner(vocabulary.literals)


def told(*texts):
    """Give the events of a driver's lines, one a second, in order of lines."""
    lines = [f"I1120 20:39:{number:02}.000000       1 server.go:101] {text}" for number, text in enumerate(texts)]
    return said(*lines)


def said(*lines):
    """Give the events of lines as they stand in a log."""
    vocabulary, scan = known()
    data = "".join(f"{line}\n" for line in lines).encode()
    reader = Recogniser(vocabulary)
    reader.feed(data, 0, scan.scan(data))
    some = sorted(calls(reader.rpc_lines, vocabulary), key=lambda one: one.line)
    return [(one.line, one.match.entry.kind, one.match) for one in some]


def kinds(*texts):
    """Give line and kind of each event."""
    return [(line, kind) for line, kind, _ in told(*texts)]


@pytest.mark.parametrize(
    ("method", "thing"),
    [
        ("Node/NodePublishVolume", "csi.nodepublish"),
        ("Node/NodeUnpublishVolume", "csi.nodeunpublish"),
        ("Node/NodeStageVolume", "csi.nodestage"),
        ("Node/NodeUnstageVolume", "csi.nodeunstage"),
        ("Controller/ControllerPublishVolume", "csi.controllerpublish"),
        ("Controller/ControllerUnpublishVolume", "csi.controllerunpublish"),
        ("Controller/CreateVolume", "csi.createvolume"),
        ("Controller/DeleteVolume", "csi.deletevolume"),
    ],
)
def test_a_call_and_its_end(method, thing):
    """A call is two events: it was asked for where its request stands, and succeeded or failed where its answer does."""
    call = [f"GRPC call: /csi.v1.{method}", 'GRPC request: {"volume_id":"vol-1"}']
    assert kinds(*call, "GRPC response: {}") == [(2, f"{thing}.called"), (3, f"{thing}.succeeded")]
    assert kinds(*call, "GRPC error: rpc error: code = Internal desc = boom") == [
        (2, f"{thing}.called"),
        (3, f"{thing}.failed"),
    ]


def test_names_of_a_call():
    """Both events have the names of the request: handle, target path, and with it pod and volume."""
    events = told("GRPC call: /csi.v1.Node/NodeUnpublishVolume", f"GRPC request: {REQUEST}", "GRPC response: {}")
    for _, _, meaning in events:
        assert {(ref.kind, ref.value) for ref in meaning.refs} == {
            ("volume_handle", "vol-1"),
            ("target_path", TARGET),
            ("pod_uid", UID),
            ("spec_name", "pvc-1"),
        }


def test_the_error_of_a_call():
    """A failed call says why; the event of its being called does not know yet."""
    error = "rpc error: code = Internal desc = rename /a /b: file exists"
    (_, _, called), (_, _, failed) = told(
        "GRPC call: /csi.v1.Node/NodeUnpublishVolume", f"GRPC request: {REQUEST}", f"GRPC error: {error}"
    )
    assert "error" not in called.attrs
    assert failed.attrs["error"] == error


def test_a_call_without_an_end():
    """A call that was never answered has no outcome."""
    assert kinds("GRPC call: /csi.v1.Node/NodeUnpublishVolume", f"GRPC request: {REQUEST}") == [
        (2, "csi.nodeunpublish.called")
    ]


def test_calls_nobody_asks_about():
    """Probes and capabilities, of which the vocabulary knows nothing, are no events."""
    assert kinds("GRPC call: /csi.v1.Node/NodeGetCapabilities", "GRPC request: {}", "GRPC response: {}") == []


def test_who_the_driver_is():
    """The answer to GetPluginInfo names the driver and its version."""
    events = told(
        "GRPC call: /csi.v1.Identity/GetPluginInfo",
        "GRPC request: {}",
        'GRPC response: {"name":"disk.example.org","vendor_version":"v1.2.3"}',
    )
    (answer,) = [meaning for _, kind, meaning in events if kind == "csi.getplugininfo.succeeded"]
    assert ("driver", "disk.example.org") in answer.refs
    assert answer.attrs["version"] == "v1.2.3"


def test_what_is_made_here():
    """The kinds made from calls are those of the vocabulary without wordings of their own."""
    made = {entry.kind for entry in known()[0].entries if entry.is_call}
    assert {"csi.nodepublish.called", "csi.nodepublish.succeeded", "csi.nodepublish.failed"} <= made
    assert not {"csi.driver.registered", "volume.unpublish.succeeded"} & made


STAGE = "/var/lib/kubelet/plugins/kubernetes.io/csi/pv/pvc-1/globalmount"
TIME = "2026-11-20T20:39:00.123456789Z"


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (  # a copy has turned the tabs into blanks
            f'{TIME} INFO service/node.go:96 NodeStageVolume: called with args {{VolumeId:vol-1 StagingTargetPath:{STAGE} X:0}} {{"TraceId": "t"}}',
            f'{TIME}\tERROR\tservice/node.go:96\tNodeStageVolume: err: boom\t{{"TraceId": "t"}}',
        ),
        (
            f'{{"level":"info","time":"{TIME}","caller":"service/node.go:96","msg":"NodeStageVolume: called with args {{VolumeId:vol-1 StagingTargetPath:{STAGE} X:0}}","TraceId":"t"}}',
            f'{{"level":"error","time":"{TIME}","caller":"service/node.go:97","msg":"NodeStageVolume: err: boom","TraceId":"t"}}',
        ),
        (
            f'time="{TIME}" level=debug msg="/csi.v1.Node/NodeStageVolume: REQ 31257: VolumeId=vol-1, StagingTargetPath={STAGE}, X={{}}"',
            f'time="{TIME}" level=debug msg="/csi.v1.Node/NodeStageVolume: REP 31257: rpc error: boom"',
        ),
        (
            f'level=debug ts={TIME} component=grpc-server msg="handling request" req="volume_id:\\"vol-1\\" staging_target_path:\\"{STAGE}\\" volume_capability:<mount:<fs_type:\\"ext4\\" > > "',
            f'level=error ts={TIME} component=grpc-server msg="handler failed" err="boom"',
        ),
        (
            f'time="{TIME}" level=info msg="node stage volume called" method=node_stage_volume node_id=17 staging_target_path={STAGE} volume_id=vol-1',
            f'time="{TIME}" level=error msg="method failed" error=boom method=/csi.v1.Node/NodeStageVolume node_id=17',
        ),
        (
            f'{{"level":"info","message":"new request - driver: Zfs method: NodeStageVolume call: {{\\"request\\":{{\\"volume_id\\":\\"vol-1\\",\\"staging_target_path\\":\\"{STAGE}\\"}}}}","service":"democratic-csi","timestamp":"{TIME}"}}',
            f'{{"level":"error","message":"handler error - driver: Zfs method: NodeStageVolume error: boom","service":"democratic-csi","timestamp":"{TIME}"}}',
        ),
        (
            f'I1120 20:39:00.000000       1 nodeserver.go:159] NodeStageVolume called with req: &csi.NodeStageVolumeRequest{{VolumeId:"vol-1", StagingTargetPath:"{STAGE}", X:0}}',
            "E1120 20:39:01.000000       1 server.go:100] GRPC error: boom",
        ),
        (
            f'I1120 20:39:00.000000       1 utils.go:66] /csi.v1.Node/NodeStageVolume called with request: volume_id:"vol-1" staging_target_path:"{STAGE}"',
            "E1120 20:39:01.000000       1 utils.go:70] /csi.v1.Node/NodeStageVolume returned with error: boom",
        ),
    ],
    ids=["zap", "zap-json", "gocsi", "go-kit", "digitalocean", "democratic", "linode", "gcp-pd"],
)
def test_a_failed_call_in_the_words_of_each_driver(asked, answered):
    """Whatever a driver logs with, its call and its error are the same two events, with the same names."""
    (first, called, _), (second, failed, meaning) = said(asked, answered)
    assert (first, called, second, failed) == (1, "csi.nodestage.called", 2, "csi.nodestage.failed")
    assert meaning.attrs["error"].endswith("boom")
    names = {ref.kind: ref.value for ref in meaning.refs}
    assert (names["volume_handle"], names["staging_path"]) == ("vol-1", STAGE)


def test_each_process_has_calls_of_its_own():
    """Where a log holds the containers of two pods, the answer of one ends no call of the other."""
    call = "[pod/{}/driver] I1120 20:39:0{}.000000       1 server.go:101] {}"
    found = said(
        call.format("csi-a", 0, "GRPC call: /csi.v1.Node/NodeStageVolume").replace("driver]", "one]"),
        call.format("csi-a", 1, 'GRPC request: {"volume_id":"vol-1"}').replace("driver]", "one]"),
        call.format("csi-a", 2, "GRPC error: other"),
        call.format("csi-a", 3, "GRPC response: {}").replace("driver]", "one]"),
    )
    assert [(line, kind) for line, kind, _ in found] == [
        (2, "csi.nodestage.called"),
        (3, "csi.call.failed"),
        (4, "csi.nodestage.succeeded"),
    ]


def test_the_staging_path_in_an_error():
    """An answer whose request is not there is about the volume that its error names, if it names one alone."""
    staging = f"/var/lib/kubelet/plugins/kubernetes.io/csi/csi.example.org/{'0' * 64}/globalmount"
    for error, named in [
        (f"failed to stat {staging}", True),
        (f"failed to stat {staging}: {staging.replace('0' * 64, '1' * 64)}", False),
        ("failed to stat the path", False),
    ]:
        (found,) = told(f"GRPC error: rpc error: code = Internal desc = {error}")
        assert [ref.value for ref in found[2].refs if ref.kind == "staging_path"] == ([staging] if named else [])
