"""Go dumps inside messages."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdiag.formats.bodies.gostruct import Sandbox, read_struct, sandbox_metadata


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "&PodSandboxMetadata{Name:n,Uid:u,Namespace:ns,Attempt:0,}",
            {"Name": "n", "Uid": "u", "Namespace": "ns", "Attempt": "0"},
        ),
        (
            'name:"n" uid:"u" attempt:1 exited_at:{seconds:1 nanos:5}',
            {"name": "n", "uid": "u", "attempt": "1", "exited_at": {"seconds": "1", "nanos": "5"}},
        ),
        ('name:"n"  uid:"u"', {"name": "n", "uid": "u"}),
        ("{Key:val Key2:[a b] Key3:}", {"Key": "val", "Key2": ("a", "b"), "Key3": ""}),
        ('pkg.T{Key:"a, b} c", N:1}', {"Key": "a, b} c", "N": "1"}),
        ("map[a:b c:d]", {"a": "b", "c": "d"}),
        ("map[csi.storage.k8s.io/pod.name:web-0 size:1Mi]", {"csi.storage.k8s.io/pod.name": "web-0", "size": "1Mi"}),
        (
            "{volumeName:kubernetes.io/csi/drv^h podName: nodeName:}",
            {"volumeName": "kubernetes.io/csi/drv^h", "podName": "", "nodeName": ""},
        ),
        ("{volumeName:a podName:6e6f nodeName:}", {"volumeName": "a", "podName": "6e6f", "nodeName": ""}),
        (
            "{T:2026-11-20 20:55:35.1 +0000 UTC m=+5.37 H:<nil>}",
            {"T": "2026-11-20 20:55:35.1 +0000 UTC m=+5.37", "H": "<nil>"},
        ),
        (
            "{P:(*int64)(0xc000123) Q:[]string(nil) E:rpc error: code = x Z:1}",
            {"P": "(*int64)(0xc000123)", "Q": "[]string(nil)", "E": "rpc error: code = x", "Z": "1"},
        ),
        (
            "&TaskExit{ContainerID:a,ID:b,Pid:1,ExitedAt:2023-01-01 00:00:00 +0000 UTC,XXX_unrecognized:[],}",
            {
                "ContainerID": "a",
                "ID": "b",
                "Pid": "1",
                "ExitedAt": "2023-01-01 00:00:00 +0000 UTC",
                "XXX_unrecognized": "",
            },
        ),
        (
            "&PodSandboxFilter{Id:,State:&StateValue{State:READY,},LabelSelector:map[string]string{a/b: c,d: e,},}",
            {"Id": "", "State": {"State": "READY"}, "LabelSelector": {"a/b": "c", "d": "e"}},
        ),
        ("{A:[{B:1 C:x y} {B:2}] D:z", {"A": ({"B": "1", "C": "x y"}, {"B": "2"}), "D": "z"}),
        ("{A:{B:1 C:[x", {"A": {"B": "1", "C": ("x",)}}),
        ('x:"1" x:"2"', {"x": ("1", "2")}),
        ('v1.Pod{Names:[]string{"a", "b"}}', {"Names": ("a", "b")}),
        ("image:docker.io/a:1 url:https://x/y", {"image": "docker.io/a:1", "url": "https://x/y"}),
        ("", {}),
        ("[]", {}),
        ("plain", {}),
    ],
)
def test_dumps(text: str, value: object) -> None:
    """Proto text old and new, `%+v`, `%#v`, maps, pointers and truncated dumps are read."""
    assert read_struct(text) == value


def test_what_nests_too_deep_is_cut() -> None:
    """Hundreds of levels do not overflow the stack."""
    assert isinstance(read_struct("{A:" * 5000), dict)
    assert isinstance(read_struct("[" * 5000), dict)


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        (
            "RunPodSandbox for &PodSandboxMetadata{Name:web-0,Uid:u-1,Namespace:default,Attempt:2,}",
            Sandbox("web-0", "default", "u-1", 2),
        ),
        ('RunPodSandbox for name:"web-0" uid:"u-1" namespace:"default" returns', Sandbox("web-0", "default", "u-1", 0)),
        (
            'RunPodSandbox for name:"web-0"  uid:"u-1"  namespace:"default"  attempt:2',
            Sandbox("web-0", "default", "u-1", 2),
        ),
        ("StopPodSandbox for x", None),
    ],
)
def test_sandbox_metadata(text: str, metadata: Sandbox | None) -> None:
    """Both spellings of the metadata give the same pod."""
    assert sandbox_metadata(text) == metadata


@settings(deadline=None)
@given(st.text(alphabet='ab:{}[]", \\&.(*)<>0\n', max_size=80) | st.text(max_size=40))
def test_any_text(text: str) -> None:
    """No input raises."""
    read_struct(text)
    sandbox_metadata(text)
