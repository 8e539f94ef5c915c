"""CSI calls in driver logs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.formats.rpc.calls import Call, CallAssembler, RpcFragment, fits, likely_method, read_fragment
from kvdiag.formats.rpc.fragments import request_of


def pair(pieces):
    """Yield the calls of one process, each when it ends, and at last the open ones."""
    assembler = CallAssembler()
    for key, piece in pieces:
        assembler.add(key, piece)
        yield from assembler.pop_finished()
    yield from assembler.flush()


T1, T2 = (
    "/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~csi/data/mount",
    "/var/lib/kubelet/pods/u-2/volumes/kubernetes.io~csi/data/mount",
)
S1 = "/var/lib/kubelet/plugins/kubernetes.io/csi/d/0a/globalmount"
PUBLISH = {
    "target_path": T1,
    "volume_context": {
        "csi.storage.k8s.io/ephemeral": "true",
        "csi.storage.k8s.io/pod.name": "web-0",
        "csi.storage.k8s.io/pod.namespace": "default",
        "csi.storage.k8s.io/pod.uid": "u-1",
        "size": "1Mi",
    },
    "secrets": {"name": "hunter2"},
    "readonly": True,
    "volume_id": "v-1",
}
PUBLISHED = {
    "volume_id": "v-1",
    "target_path": T1,
    "readonly": "true",
    "ephemeral": "true",
    "pod_uid": "u-1",
    "pod_name": "web-0",
    "pod_namespace": "default",
}
UNPUBLISH = {"target_path": T2, "volume_id": "v-2"}


def whole(method: str, request: object, error: str = "") -> str:
    """The hostpath driver's fourth line."""
    return "gRPCCall: " + json.dumps(
        {"Method": "/csi.v1.Node/" + method, "Request": request, "Response": {}, "Error": error, "FullError": None},
        separators=(",", ":"),
    )


@pytest.mark.parametrize(
    "row",
    [
        ("GRPC call: /csi.v1.Node/NodeStageVolume", {}, "call", "NodeStageVolume", {}, "", "", None),
        ("GRPC request: " + json.dumps(PUBLISH), {}, "request", "", PUBLISHED, "", "", None),
        ("GRPC response: {}", {}, "response", "", {}, "", "", True),
        (
            "GRPC error: rpc error: code = Internal desc = no",
            {"GRPC.call": "/csi.v0.Controller/CreateVolume", "GRPC.request": 'name:"pvc-1" '},
            "whole",
            "CreateVolume",
            {"name": "pvc-1"},
            "rpc error: code = Internal desc = no",
            "",
            False,
        ),
        (
            'GRPC response: name:"csi.example.org" vendor_version:"v0.1.0" ',
            {"GRPC.call": "/csi.v0.Identity/GetPluginInfo", "GRPC.request": ""},
            "whole",
            "GetPluginInfo",
            {"name": "csi.example.org", "vendor_version": "v0.1.0"},
            "",
            "",
            True,
        ),
        (
            'GRPC request: {"name":"snapshot-1","source_volume_id":"v-1"}',
            {},
            "request",
            "",
            {"name": "snapshot-1", "source_volume_id": "v-1"},
            "",
            "",
            None,
        ),
        (
            "GRPC failed",
            {"err": "rpc error: code = Internal desc = no"},
            "error",
            "",
            {},
            "rpc error: code = Internal desc = no",
            "",
            False,
        ),
        (
            'GRPC call: /csi.v1.Node/NodeStageVolume, GRPC request: {"volume_id":"v-1"}',
            {},
            "called",
            "NodeStageVolume",
            {"volume_id": "v-1"},
            "",
            "",
            None,
        ),
        (
            "GRPC call: /csi.v1.Node/NodeStageVolume, GRPC error: rpc error: code = Internal desc = no",
            {},
            "error",
            "NodeStageVolume",
            {},
            "rpc error: code = Internal desc = no",
            "",
            False,
        ),
        (
            "[ID:31120] GRPC call /csi.v1.Controller/ControllerUnpublishVolume, error: rpc error: code = NotFound desc = no",
            {},
            "error",
            "ControllerUnpublishVolume",
            {},
            "rpc error: code = NotFound desc = no",
            "31120",
            False,
        ),
        (
            "GRPC call: /csi.v1.Node/NodeStageVolume, GRPC response: {}",
            {},
            "response",
            "NodeStageVolume",
            {},
            "",
            "",
            True,
        ),
        (
            'gRPC[7]: call /csi.v1.Node/NodeStageVolume({"volume_id":"v-1"}) returned error rpc error: code = Internal desc = no',
            {},
            "whole",
            "NodeStageVolume",
            {"volume_id": "v-1"},
            "rpc error: code = Internal desc = no",
            "7",
            False,
        ),
        ("GRPC response: {} ", {}, "response", "", {}, "", "", True),
        (
            'GRPC response: {"name":"d.example.com","vendor_version":"v1.2"}',
            {},
            "response",
            "",
            {"name": "d.example.com", "vendor_version": "v1.2"},
            "",
            "",
            True,
        ),
        ("GRPC error: <nil>", {}, "error", "", {}, "", "", True),
        (
            "GRPC error: rpc error: code = Aborted desc = x",
            {},
            "error",
            "",
            {},
            "rpc error: code = Aborted desc = x",
            "",
            False,
        ),
        # csi-lib-utils from 0.20 on
        (
            "GRPC call",
            {"method": "/csi.v1.Controller/DeleteVolume", "request": '{"volume_id":"v-1"}'},
            "called",
            "DeleteVolume",
            {"volume_id": "v-1"},
            "",
            "",
            None,
        ),
        ("GRPC response", {"response": "{}", "err": "null"}, "response", "", {}, "", "", True),
        (
            "GRPC response",
            {"response": "{}", "err": "rpc error: code = Internal"},
            "error",
            "",
            {},
            "rpc error: code = Internal",
            "",
            False,
        ),
        ("GRPC error", {"err": "rpc error: code = NotFound"}, "error", "", {}, "rpc error: code = NotFound", "", False),
        # hostpath
        (whole("NodePublishVolume", PUBLISH), {}, "whole", "NodePublishVolume", PUBLISHED, "", "", True),
        (
            whole("NodeUnpublishVolume", UNPUBLISH, "rpc error: x"),
            {},
            "whole",
            "NodeUnpublishVolume",
            UNPUBLISH,
            "rpc error: x",
            "",
            False,
        ),
        (whole("NodeUnpublishVolume", UNPUBLISH)[:-30], {}, "called", "NodeUnpublishVolume", UNPUBLISH, "", "", None),
        # ceph-csi
        (
            "ID: 47 Req-ID: 0001-0024-aa GRPC call: /csi.v1.Node/NodeUnstageVolume",
            {},
            "call",
            "NodeUnstageVolume",
            {},
            "",
            "47",
            None,
        ),
        ("ID: 48 GRPC call: /csi.v1.Identity/Probe", {}, "call", "Probe", {}, "", "48", None),
        (
            'ID: 47 Req-ID: 0001-0024-aa GRPC request: {"staging_target_path":"/s","volume_id":"0001-0024-aa"}',
            {},
            "request",
            "",
            {"staging_target_path": "/s", "volume_id": "0001-0024-aa"},
            "",
            "47",
            None,
        ),
        ("ID: 47 Req-ID: 0001-0024-aa GRPC error: rpc error: x", {}, "error", "", {}, "rpc error: x", "47", False),
        # ebs, old and new
        (
            "NodeStageVolume: called",
            {"args": '{"volume_id":"vol-1","staging_target_path":"/s"}'},
            "called",
            "NodeStageVolume",
            {"volume_id": "vol-1", "staging_target_path": "/s"},
            "",
            "",
            None,
        ),
        (
            "NodeUnstageVolume: called with args {VolumeId:vol-1 StagingTargetPath:/s XXX_sizecache:0}",
            {},
            "called",
            "NodeUnstageVolume",
            {"volume_id": "vol-1", "staging_target_path": "/s"},
            "",
            "",
            None,
        ),
        (
            "NodeUnStageVolume: successfully unstaged volume",
            {"volumeID": "vol-1"},
            "response",
            "NodeUnstageVolume",
            {},
            "",
            "",
            True,
        ),
        # gcp-pd
        (
            '/csi.v1.Node/NodeUnpublishVolume called with request: volume_id:"v-2"  target_path:"/t"',
            {},
            "called",
            "NodeUnpublishVolume",
            {"volume_id": "v-2", "target_path": "/t"},
            "",
            "",
            None,
        ),
        (
            "/csi.v1.Node/NodeUnpublishVolume returned with response: ",
            {},
            "response",
            "NodeUnpublishVolume",
            {},
            "",
            "",
            True,
        ),
        (
            "/csi.v1.Node/NodeUnpublishVolume returned with error: rpc error: x",
            {},
            "error",
            "NodeUnpublishVolume",
            {},
            "rpc error: x",
            "",
            False,
        ),
        # Longhorn from 1.3 on
        (
            'NodePublishVolume: req: {"target_path":"/t","volume_id":"v"}',
            {},
            "called",
            "NodePublishVolume",
            {"target_path": "/t", "volume_id": "v"},
            "",
            "",
            None,
        ),
        ("NodePublishVolume: rsp: {}", {}, "response", "NodePublishVolume", {}, "", "", True),
        ("NodePublishVolume: err: rpc error: x", {}, "error", "NodePublishVolume", {}, "rpc error: x", "", False),
        # vSphere
        (
            "NodeUnpublishVolume: called with args {VolumeId:v TargetPath:/t XXX_NoUnkeyedLiteral:{}}",
            {"TraceId": "t-1"},
            "called",
            "NodeUnpublishVolume",
            {"volume_id": "v", "target_path": "/t"},
            "",
            "t-1",
            None,
        ),
        (
            "/csi.v1.Node/NodeUnpublishVolume: REQ 0491: VolumeId=v, TargetPath=/t, XXX_sizecache=0",
            {},
            "called",
            "NodeUnpublishVolume",
            {"volume_id": "v", "target_path": "/t"},
            "",
            "0491",
            None,
        ),
        (
            "/csi.v1.Node/NodeUnpublishVolume: REP 0491: rpc error: code = Internal",
            {},
            "error",
            "NodeUnpublishVolume",
            {},
            "rpc error: code = Internal",
            "0491",
            False,
        ),
        (
            "/csi.v1.Node/NodeUnpublishVolume: REP 0491: XXX_sizecache=0",
            {},
            "response",
            "NodeUnpublishVolume",
            {},
            "",
            "0491",
            True,
        ),
        # Cinder
        ("[ID:12] GRPC call: /csi.v1.Node/NodeStageVolume", {}, "call", "NodeStageVolume", {}, "", "12", None),
        # Linode
        (
            (
                'NodeStageVolume called with req: &csi.NodeStageVolumeRequest{VolumeId:"v", StagingTargetPath:"/s", '
                'VolumeCapability:(*csi.VolumeCapability)(0xc0), Secrets:map[string]string{"name":"hunter2"}, Xsize:0}'
            ),
            {},
            "called",
            "NodeStageVolume",
            {"volume_id": "v", "staging_target_path": "/s"},
            "",
            "",
            None,
        ),
        (
            'NodePublishVolume successful to path "/t"',
            {"TraceId": "t-1"},
            "response",
            "NodePublishVolume",
            {},
            "",
            "t-1",
            True,
        ),
        # Hetzner: the method is told from 2.0 on; before, the request tells it
        (
            "handling request",
            {"req": 'volume_id:"1" staging_target_path:"/s" volume_capability:<mount:<fs_type:"ext4" > > '},
            "called",
            "NodeStageVolume",
            {"volume_id": "1", "staging_target_path": "/s"},
            "",
            "",
            None,
        ),
        (
            "handling request",
            {"req": 'volume_id:"1" target_path:"/t" '},
            "called",
            "NodeUnpublishVolume",
            {"volume_id": "1", "target_path": "/t"},
            "",
            "",
            None,
        ),
        (
            "handling request",
            {"method": "/csi.v1.Controller/DeleteVolume", "req": 'volume_id:"1"'},
            "called",
            "DeleteVolume",
            {"volume_id": "1"},
            "",
            "",
            None,
        ),
        ("handling request", {"req": ""}, "called", "", {}, "", "", None),
        ("finished handling request", {"component": "grpc-server"}, "response", "", {}, "", "", True),
        ("handler failed", {"err": "rpc error: x"}, "error", "", {}, "rpc error: x", "", False),
        # DigitalOcean and its descendants
        (
            "node unstage volume called",
            {"volume_id": "v", "staging_target_path": "/s", "node_id": "17", "method": "node_unstage_volume"},
            "called",
            "NodeUnstageVolume",
            {"volume_id": "v", "staging_target_path": "/s"},
            "",
            "",
            None,
        ),
        (
            "controller publish volume called",
            {"volume_id": "v", "node_id": "17"},
            "called",
            "ControllerPublishVolume",
            {"volume_id": "v", "node_id": "17"},
            "",
            "",
            None,
        ),
        (
            "unmounting volume is finished",
            {"volume_id": "v"},
            "response",
            "NodeUnpublishVolume",
            {"volume_id": "v"},
            "",
            "",
            True,
        ),
        (
            "method failed",
            {"method": "/csi.v1.Node/NodeStageVolume", "error": "rpc error: x", "req": 'volume_id:"v" '},
            "error",
            "NodeStageVolume",
            {"volume_id": "v"},
            "rpc error: x",
            "",
            False,
        ),
        # democratic-csi
        (
            (
                'new request - driver: Zfs method: NodeUnstageVolume call: {"metadata":{"name":"x"},'
                '"request":{"volume_id":"v","staging_target_path":"/s","secrets":"redacted"}}'
            ),
            {},
            "called",
            "NodeUnstageVolume",
            {"volume_id": "v", "staging_target_path": "/s"},
            "",
            "",
            None,
        ),
        ("new response - driver: Zfs method: Probe response: {}", {}, "response", "Probe", {}, "", "", True),
        (
            'handler error - driver: Zfs method: NodeStageVolume error: {"code":5}',
            {},
            "error",
            "NodeStageVolume",
            {},
            '{"code":5}',
            "",
            False,
        ),
    ],
)
def test_pieces(row: tuple[object, ...]) -> None:
    """Each driver's lines are told as part, method, names in the request, error, id and end."""
    message, fields, *told = row
    piece = read_fragment(message, fields)
    assert piece is not None
    assert piece._replace(answers=()) == RpcFragment(*told)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "SyncLoop ADD",
        "GRPC call: /grpc.health.v1.Health/Check",
        "gRPCCall: [",
        "Mount: called with args",
        "ResourceVolume: req: {}",
        "GRPC calls are logged",
        "handling request",
        "handler failed",
        "the volume called",
        "copying the volume is finished",
        "new request - driver: Zfs method: Reticulate call: {}",
    ],
)
def test_other_lines(message: str) -> None:
    """What is about no CSI call is nothing."""
    assert read_fragment(message, {}) is None


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ('GRPC request: volume_id:"v-1" ', "/csi.v1.Node/NodeStageVolume"),
        ("GRPC call", "/csi.v1.Node/NodeStageVolume"),
        ("GRPC error: rpc error: code = Unimplemented desc = no", "/widget.v1.Store/Open"),
    ],
)
def test_a_record_without_a_result(message: str, call: str) -> None:
    """With the call as a field, only a response or an error of a CSI call is a result."""
    assert read_fragment(message, {"GRPC.call": call, "GRPC.request": 'volume_id:"v-1" '}) is None


@pytest.mark.parametrize(
    "payload",
    [
        '{"secrets":{"name":"hunter2","volume_id":"hunter2"},"volume_id":"v-1","target_path":"/t"',
        '{"node_stage_secrets":"***stripped***","volume_id":"v-1","target_path":"/t","x":"cu',
        "{VolumeId:v-1 TargetPath:/t Secrets:map[name:hunter2 volume_id:hunter2]}",
        'volume_id:"v-1" target_path:"/t" secrets:{key:"name" value:"hunter2"}',
        '{VolumeId:"v-1", TargetPath:"/t", Secrets:map[string]string{"name":"hunter2", "volume_id":"hunter2"}}',
    ],
)
def test_secrets_are_never_kept(payload: str) -> None:
    """Whatever the notation, nothing of the secrets is kept."""
    piece = read_fragment("GRPC request: " + payload, {})
    assert piece is not None
    assert piece.request == {"volume_id": "v-1", "target_path": "/t"}


def test_a_cut_value_is_not_kept() -> None:
    """A path that was cut off is no path."""
    piece = read_fragment('GRPC request: {"volume_id":"v-1","target_path":"/var/lib/ku', {})
    assert piece is not None
    assert piece.request == {"volume_id": "v-1"}


def calls(*messages: str) -> list[Call[int]]:
    """The calls in a log of these messages; keys are positions from 0."""
    pieces = [(at, read_fragment(message, {})) for at, message in enumerate(messages)]
    return list(pair((at, piece) for at, piece in pieces if piece is not None))


def told(*messages: str) -> list[tuple[str, str, int, int | None, int | None]]:
    """Method, outcome and the three keys of each call."""
    return [(call.method, call.outcome, call.begins, call.requested, call.ends) for call in calls(*messages)]


CALL, REQUEST, OK = "GRPC call: /csi.v1.Node/", "GRPC request: ", "GRPC response: {}"


def test_one_call_after_the_other() -> None:
    """Call, request and response in a row are one call."""
    assert told(
        CALL + "NodePublishVolume",
        REQUEST + json.dumps(PUBLISH),
        OK,
        CALL + "NodeUnpublishVolume",
        REQUEST + json.dumps(UNPUBLISH),
        OK,
    ) == [
        ("NodePublishVolume", "succeeded", 0, 1, 2),
        ("NodeUnpublishVolume", "succeeded", 3, 4, 5),
    ]


def test_the_whole_line_is_the_same_call() -> None:
    """The fourth line of the hostpath driver makes no second call."""
    (call,) = calls(CALL + "NodePublishVolume", REQUEST + json.dumps(PUBLISH), OK, whole("NodePublishVolume", PUBLISH))
    assert (call.begins, call.requested, call.ends, call.outcome, call.request) == (0, 1, 3, "succeeded", PUBLISHED)
    assert not call.ambiguous


def test_only_the_whole_line() -> None:
    """At a verbosity that prints only the whole line it is a call of its own."""
    assert told(whole("NodeUnpublishVolume", UNPUBLISH, "rpc error: x")) == [("NodeUnpublishVolume", "failed", 0, 0, 0)]


def test_interleaved_calls_are_told_apart_by_the_whole_line() -> None:
    """A response that FIFO gives to the wrong call is put right by the whole line."""
    log = (
        CALL + "NodePublishVolume", REQUEST + json.dumps(PUBLISH),
        CALL + "NodeUnpublishVolume", REQUEST + json.dumps(UNPUBLISH),
        "GRPC call: /csi.v1.Node/NodeGetCapabilities", REQUEST + "{}", 'GRPC response: {"capabilities":[]}', whole("NodeGetCapabilities", {}),
        OK, whole("NodeUnpublishVolume", UNPUBLISH),
        OK, whole("NodePublishVolume", PUBLISH),
    )  # fmt: skip
    found = calls(*log)
    assert sorted((call.method, call.begins, call.requested, call.ends) for call in found) == [
        ("NodeGetCapabilities", 4, 5, 7),
        ("NodePublishVolume", 0, 1, 11),
        ("NodeUnpublishVolume", 2, 3, 9),
    ]
    assert not any(call.ambiguous for call in found)


def test_interleaved_calls_without_it() -> None:
    """Without the whole line the oldest open call that can have such an answer gets it, and the doubt is told."""
    log = (
        CALL + "NodePublishVolume",
        REQUEST + json.dumps(PUBLISH),
        CALL + "NodeUnpublishVolume",
        REQUEST + json.dumps(UNPUBLISH),
        CALL + "NodeGetCapabilities",
        REQUEST + "{}",
        'GRPC response: {"capabilities":[]}',
        OK,
        OK,
    )
    found = {call.method: call for call in calls(*log)}
    assert [
        (found[m].ends, found[m].ambiguous) for m in ("NodeGetCapabilities", "NodePublishVolume", "NodeUnpublishVolume")
    ] == [(6, False), (7, True), (8, False)]


def test_requests_are_joined_by_their_fields() -> None:
    """Two calls, then two requests in the other order: the fields tell which is whose."""
    found = {
        call.method: call
        for call in calls(
            CALL + "NodeStageVolume",
            CALL + "NodeUnpublishVolume",
            REQUEST + json.dumps(UNPUBLISH),
            REQUEST + json.dumps({"staging_target_path": S1, "volume_id": "v-1"}),
        )
    }
    assert (found["NodeUnpublishVolume"].requested, found["NodeStageVolume"].requested) == (2, 3)
    assert found["NodeStageVolume"].outcome == "open"


def test_a_sidecar_prints_an_error_line_always() -> None:
    """In a sidecar's log `GRPC error: <nil>` confirms the response, and an error corrects it."""
    log = (
        CALL + "NodeUnpublishVolume", REQUEST + json.dumps(UNPUBLISH), OK, "GRPC error: <nil>",
        CALL + "NodePublishVolume", REQUEST + json.dumps(PUBLISH), OK, "GRPC error: rpc error: code = Aborted desc = x",
    )  # fmt: skip
    first, second = calls(*log)
    assert (first.outcome, first.ends) == ("succeeded", 3)
    assert (second.outcome, second.ends, second.error) == ("failed", 7, "rpc error: code = Aborted desc = x")


def test_a_driver_prints_an_error_instead_of_a_response() -> None:
    """An error after another call's response closes the call that is open."""
    log = (
        CALL + "NodePublishVolume", REQUEST + json.dumps(PUBLISH), OK,
        CALL + "NodePublishVolume", REQUEST + json.dumps(PUBLISH), CALL + "NodeUnpublishVolume", REQUEST + json.dumps(UNPUBLISH), OK,
        "GRPC error: rpc error: code = Internal desc = unmount /x",
    )  # fmt: skip
    assert [(call.outcome, call.ends) for call in calls(*log)] == [("succeeded", 2), ("succeeded", 7), ("failed", 8)]


def test_an_error_that_names_its_volume() -> None:
    """Of several open calls an error closes the one whose volume or path it names."""
    log = (
        CALL + "NodePublishVolume",
        REQUEST + json.dumps(PUBLISH),
        CALL + "NodeUnpublishVolume",
        REQUEST + json.dumps(UNPUBLISH),
        f"GRPC error: rpc error: code = Internal desc = unmount {T2}: busy",
    )
    first, second = calls(*log)
    assert (first.method, first.outcome, first.ambiguous) == ("NodeUnpublishVolume", "failed", False)
    assert (second.method, second.outcome) == ("NodePublishVolume", "open")


def test_an_error_alone() -> None:
    """An error without any call is a failed call of unknown method."""
    (call,) = calls("GRPC error: rpc error: x")
    assert (call.method, call.outcome, call.ambiguous, call.begins, call.ends) == ("", "failed", True, 0, 0)


def test_ids_decide() -> None:
    """Where the driver numbers its calls the number joins the lines."""
    log = (
        "ID: 1 GRPC call: /csi.v1.Node/NodeStageVolume",
        "ID: 2 GRPC call: /csi.v1.Node/NodeStageVolume",
        'ID: 2 GRPC request: {"volume_id":"v-2"}',
        'ID: 1 GRPC request: {"volume_id":"v-1"}',
        "ID: 2 GRPC response: {}",
    )
    first, second = calls(*log)
    assert (first.request, first.begins, first.requested, first.ends, first.ambiguous) == (
        {"volume_id": "v-2"},
        1,
        2,
        4,
        False,
    )
    assert (second.request, second.outcome) == ({"volume_id": "v-1"}, "open")


def test_a_call_repeated_word_for_word() -> None:
    """A client that asks again has had its answer: the first call ends unseen, the response is the second's."""
    log = (
        CALL + "NodeUnpublishVolume",
        REQUEST + json.dumps(UNPUBLISH),
        CALL + "NodeUnpublishVolume",
        REQUEST + json.dumps(UNPUBLISH),
        OK,
    )
    assert sorted(told(*log)) == [
        ("NodeUnpublishVolume", "open", 0, 1, None),
        ("NodeUnpublishVolume", "succeeded", 2, 3, 4),
    ]


def test_two_layers_that_log_the_same_call() -> None:
    """The number and the trace id of vSphere are two names of one call."""
    pieces = [
        read_fragment("/csi.v1.Node/NodeUnpublishVolume: REQ 0491: VolumeId=v, TargetPath=/t, X=0", {}),
        read_fragment("NodeUnpublishVolume: called with args {VolumeId:v TargetPath:/t X:{}}", {"TraceId": "t-1"}),
        read_fragment("/csi.v1.Node/NodeUnpublishVolume: REP 0491: rpc error: x", {}),
    ]
    (call,) = pair((at, piece) for at, piece in enumerate(pieces) if piece is not None)
    assert (call.begins, call.ends, call.outcome) == (0, 2, "failed")


def test_a_request_whose_call_line_is_missing() -> None:
    """The fields of a request tell its method as far as they can."""
    assert told(REQUEST + json.dumps(UNPUBLISH), OK) == [("NodeUnpublishVolume", "succeeded", 0, 0, 1)]
    assert likely_method({"target_path": "/t", "staging_target_path": "/s"}) == "NodePublishVolume"
    assert likely_method({"name": "pvc-1"}) == "CreateVolume"
    assert likely_method({"name": "snapshot-1", "source_volume_id": "v"}) == "CreateSnapshot"
    assert likely_method({"volume_id": "v"}) == ""


def test_responses_without_a_call() -> None:
    """A response to nothing is nothing."""
    assert told(OK, OK) == []


@pytest.mark.parametrize(
    ("method", "fields", "fitting"),
    [
        ("NodeUnpublishVolume", ("target_path", "volume_id"), True),
        ("NodeUnpublishVolume", ("staging_target_path", "volume_id"), False),
        ("NodeUnstageVolume", ("staging_target_path", "volume_id"), True),
        ("NodeStageVolume", ("target_path", "volume_id"), False),
        ("NodePublishVolume", ("target_path", "staging_target_path", "volume_id"), True),
        ("ControllerUnpublishVolume", ("volume_id", "node_id"), True),
        ("DeleteVolume", ("volume_id", "node_id"), False),
        ("CreateVolume", ("name",), True),
        ("Probe", (), True),
        ("Probe", ("volume_id",), False),
        ("NodeExpandVolume", ("volume_path",), True),
    ],
)
def test_fields_that_a_request_must_have(method: str, fields: tuple[str, ...], fitting) -> None:
    """The CSI specification says which fields a request of each method has."""
    assert fits(method, dict.fromkeys(fields, "x")) is fitting


@given(
    st.text(max_size=60),
    st.dictionaries(st.sampled_from(["method", "request", "response", "err", "args"]), st.text(max_size=20)),
)
def test_any_text(text: str, fields: dict[str, str]) -> None:
    """No input raises."""
    for lead in (
        "",
        "GRPC call",
        "GRPC request: ",
        "GRPC response: ",
        "GRPC error: ",
        "gRPCCall: ",
        "NodeStageVolume: called with args ",
        "NodeStageVolume: rsp: ",
    ):
        read_fragment(lead + text, fields)


LINES = [
    CALL + "NodePublishVolume",
    CALL + "NodeUnpublishVolume",
    REQUEST + json.dumps(PUBLISH),
    REQUEST + json.dumps(UNPUBLISH),
    REQUEST + "{}",
    OK,
    "GRPC error: <nil>",
    "GRPC error: x",
    whole("NodePublishVolume", PUBLISH),
    whole("NodeUnpublishVolume", UNPUBLISH, "e"),
    "ID: 1 GRPC call: /csi.v1.Node/NodeStageVolume",
    "ID: 1 GRPC response: {}",
]


@given(st.lists(st.sampled_from(LINES), max_size=60))
def test_calls_are_neither_lost_nor_made_up(log: list[str]) -> None:
    """Every call line begins exactly one call, in whatever order lines come."""
    found = calls(*log)
    begun = [call.begins for call in found]
    assert len(begun) == len(set(begun))
    assert {at for at, line in enumerate(log) if "GRPC call" in line} <= set(begun)
    for call in found:
        assert call.ends is None or call.ends >= call.begins
        assert (call.outcome == "open") == (call.ends is None)


@pytest.mark.parametrize(
    "piece", ["{", '"volume_id":"', "volume_id:", "secrets:{", 'secrets":"', "name=a,", " ", "a", "\\\\"]
)
def test_long_hostile_payloads_are_read_in_linear_time(piece: str) -> None:
    """Half a megabyte of one piece repeated comes back."""
    for lead in (
        "GRPC request: ",
        'GRPC request: {"x":',
        "GRPC response: ",
        'gRPCCall: {"Method":"/csi.v1.Node/Probe",',
        "GRPC ",
        "NodeStageVolume: called with args ",
    ):
        read_fragment(lead + piece * (500_000 // len(piece)), {})


def test_many_open_calls() -> None:
    """A log without any response keeps a bounded number of calls."""
    log = [
        line
        for number in range(2000)
        for line in (CALL + "NodeUnpublishVolume", REQUEST + json.dumps({"target_path": f"/t/{number}"}))
    ]
    found = calls(*log)
    assert len(found) == 2000
    assert {call.outcome for call in found} == {"open"}


def test_an_answer_that_names_its_volume() -> None:
    """Of two calls of one method the answer ends that of its volume, not the older one."""
    stage = "node stage volume called"
    lines = [
        (stage, {"volume_id": "v-1", "staging_target_path": "/1"}),
        (stage, {"volume_id": "v-2", "staging_target_path": "/2"}),
        ("formatting and mounting stage volume is finished", {"volume_id": "v-2"}),
        ("method failed", {"method": "/csi.v1.Node/NodeStageVolume", "error": "no", "req": 'volume_id:"v-1"'}),
    ]
    pieces = [(at, read_fragment(*line)) for at, line in enumerate(lines)]
    found = list(pair((at, piece) for at, piece in pieces if piece is not None))
    assert [(call.request["volume_id"], call.outcome, call.ambiguous) for call in found] == [
        ("v-2", "succeeded", False),
        ("v-1", "failed", False),
    ]


@pytest.mark.parametrize(
    ("payload", "nodes"),
    [
        ('{"volume_capability":{"access_mode":{"mode":5}},"volume_id":"vol-1"}', "MULTI"),
        ('{"volume_capability":{"access_mode":{"mode":"MULTI_NODE_READER_ONLY"}},"volume_id":"vol-1"}', "MULTI"),
        ('{"volume_capability":{"access_mode":{"mode":"SINGLE_NODE_MULTI_WRITER"}},"volume_id":"vol-1', "SINGLE"),
        ('volume_id:"vol-1" volume_capability:<mount:<> access_mode:<mode:SINGLE_NODE_WRITER > >', "SINGLE"),
        ('volume_id:"vol-1" volume_capability:{mount:{} access_mode:{mode:MULTI_NODE_MULTI_WRITER}}', "MULTI"),
        ('{"volume_capability":{"access_mode":{"mode":"UNKNOWN"}},"volume_id":"vol-1"}', ""),
        ('{"volume_id":"vol-1"}', ""),
    ],
)
def test_how_many_nodes_may_mount_it(payload, nodes):
    """The access mode that a call asks for, by its number or its name, says whether one node or many may have it."""
    assert request_of(payload).get("access_mode", "") == nodes
