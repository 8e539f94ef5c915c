"""Many names of one thing are joined; what only looks alike stays apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import SECOND
from kvdiag.events.made_names import attachment_name, inline_handle, staging_hash
from kvdiag.events.names import refs_of
from kvdiag.history.correlate.entities import describe
from kvdiag.history.correlate.identity import FORWARD, Identities
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.values import SubjectKind

ROOT = "/var/lib/kubelet"
POD, OTHER = "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c", "95d6b80b-1111-4222-8333-444455556666"
STATIC = "275b2c5cfba1e8b6d3ede7160515a026"
SANDBOX, CONTAINER = "ab" * 32, "cd" * 32
DRIVER, HANDLE, PV = "disk.example.org", "vol-0a1b", "pvc-77aa11cc"
UNIQUE = f"kubernetes.io/csi/{DRIVER}^{HANDLE}"
TARGET = f"{ROOT}/pods/{POD}/volumes/kubernetes.io~csi/{PV}/mount"
STAGING = f"{ROOT}/plugins/kubernetes.io/csi/{DRIVER}/{staging_hash(HANDLE)}/globalmount"
OLD_STAGING = f"{ROOT}/plugins/kubernetes.io/csi/pv/{PV}/globalmount"


def event(second=0, kind="k", source="log", attrs=None, **names):
    """Give an event with these names, read as from a line."""
    refs = dict.fromkeys(ref for name, value in names.items() for ref in refs_of(name, value.encode()))
    return Event(
        second * SECOND, kind, "", tuple(refs), attrs or {}, Origin(source, second), "", (b"",), second * SECOND
    )


def volumes(*events):
    """Give how many volumes the events speak of."""
    known = Identities(events)
    return len({known.volume(one) for one in events if known.volume(one)})


SETUP = event(unique_name=UNIQUE, pod_uid=POD, spec_name=PV, outer_name="data")


@pytest.mark.parametrize(
    "alias",
    [
        event(volume_handle=HANDLE),
        event(unique_name=UNIQUE),
        event(spec_name=PV),
        event(pod_uid=POD, outer_name="data"),
        event(pod_uid=POD, spec_name=PV),
        event(target_path=TARGET),
        event(target_path=TARGET, volume_handle=HANDLE),
        event(target_path=TARGET.replace(ROOT, "/var/snap/microk8s/common")),
        event(staging_path=STAGING),
        event(staging_path=STAGING, volume_handle=HANDLE),
        event(staging_path=OLD_STAGING),
        event(target_path=f"{ROOT}/plugins/kubernetes.io/csi/volumeDevices/publish/{PV}/{POD}"),
        event(staging_path=f"{ROOT}/plugins/kubernetes.io/csi/volumeDevices/staging/{PV}"),
        event(attachment=attachment_name(HANDLE, DRIVER, "node-a")),
    ],
    ids=lambda one: " ".join(ref.kind for ref in one.refs),
)
def test_every_alias_of_a_persistent_volume(alias):
    """Handle, unique name, PV, the pod's own name, target and staging path and VolumeAttachment are one volume."""
    node = event(node="node-a")
    for order in ([SETUP, node, alias], [alias, node, SETUP]):
        assert volumes(*order) == 1


@pytest.mark.parametrize(
    "stranger",
    [
        event(volume_handle="vol-0a1c"),
        event(unique_name=f"kubernetes.io/csi/{DRIVER}^vol-0a1c"),
        event(spec_name="pvc-other"),
        event(pod_uid=OTHER, outer_name="data"),
        event(staging_path=STAGING.replace(staging_hash(HANDLE), staging_hash("other"))),
        event(attachment=attachment_name(HANDLE, DRIVER, "node-b")),
        event(attachment=attachment_name(HANDLE, "other.example.org", "node-a")),
        event(unique_name=f"kubernetes.io/secret/{POD}-token"),
    ],
    ids=lambda one: " ".join(ref.kind for ref in one.refs),
)
def test_what_is_another_volume(stranger):
    """Another handle, PV, pod, hash or node is another volume."""
    assert volumes(SETUP, event(node="node-a"), stranger) == 2


def test_a_static_attachment_name_needs_no_node_of_its_own():
    """The node of a VolumeAttachment may be named anywhere in the logs."""
    attachment = event(attachment=attachment_name(HANDLE, DRIVER, "node-b"))
    assert volumes(SETUP, event(node="node-a"), event(node="node-b"), attachment) == 1


def test_two_drivers_with_one_handle_stay_apart():
    """A handle is a driver's own; two drivers may both call a volume `data`, and staged paths tell them apart."""
    one = event(unique_name="kubernetes.io/csi/a.example.org^data")
    two = event(unique_name="kubernetes.io/csi/b.example.org^data")
    hashed = staging_hash("data")
    staged = [
        event(staging_path=f"{ROOT}/plugins/kubernetes.io/csi/{d}.example.org/{hashed}/globalmount") for d in "ab"
    ]
    assert volumes(one, two) == 2
    known = Identities([one, two, *staged])
    assert known.volume(one) == known.volume(staged[0])
    assert known.volume(two) == known.volume(staged[1])
    assert known.volume(one) != known.volume(two)


def test_a_handle_without_its_driver_is_not_guessed():
    """Where two drivers have a handle, a line that names only the handle joins them not."""
    one = event(unique_name="kubernetes.io/csi/a.example.org^data")
    two = event(unique_name="kubernetes.io/csi/b.example.org^data")
    bare = event(volume_handle="data")
    known = Identities([one, two, bare])
    assert len({known.volume(one), known.volume(two), known.volume(bare)}) == 3


def test_a_volume_of_many_pods_is_one_volume():
    """RWX: many pods publish one volume on a node; the pods stay themselves."""
    pods = [f"{number:08x}-1111-4222-8333-444455556666" for number in range(5)]
    setups = [event(unique_name=UNIQUE, pod_uid=pod, spec_name=PV, outer_name="data") for pod in pods]
    known = Identities(setups)
    assert len({known.volume(one) for one in setups}) == 1
    assert [known.pods(one) for one in setups] == [[pod] for pod in pods]


def test_two_volumes_of_one_pod_stay_apart():
    """A pod that uses two volumes does not make them one, whatever stands in one line with the pod."""
    names = ["a", "b"]
    setups = [
        event(unique_name=f"kubernetes.io/csi/{DRIVER}^vol-{n}", pod_uid=POD, spec_name=f"pvc-{n}", outer_name=n)
        for n in names
    ]
    targets = [event(target_path=TARGET.replace(PV, f"pvc-{n}"), volume_handle=f"vol-{n}") for n in names]
    assert volumes(*setups, *targets) == 2


@pytest.mark.parametrize("name", ["data", "cache"])
def test_inline_volumes(name):
    """An inline volume's handle is a hash of pod and name; those of two pods are two, though both call it the same."""
    known, handles = [], {}
    for pod in (POD, OTHER):
        handles[pod] = inline_handle(pod, name)
        path = f"{ROOT}/pods/{pod}/volumes/kubernetes.io~csi/{name}/mount"
        known.append(event(unique_name=f"kubernetes.io/csi/{pod}-{name}"))
        known.append(event(volume_handle=handles[pod], target_path=path))
        known.append(event(volume_handle=handles[pod]))
        known.append(event(target_path=path))
    identities = Identities(known)
    roots = [identities.volume(one) for one in known]
    assert len(set(roots[:4])) == len(set(roots[4:])) == 1
    assert roots[0] != roots[4]


@pytest.mark.parametrize("plugin", ["secret", "configmap", "projected", "empty-dir", "host-path"])
def test_local_volumes(plugin):
    """The volumes of no driver are those of one pod, and known by folder and name."""
    mine = event(unique_name=f"kubernetes.io/{plugin}/{POD}-data", outer_name="data")
    path = event(target_path=f"{ROOT}/pods/{POD}/volumes/kubernetes.io~{plugin}/data")
    other = event(unique_name=f"kubernetes.io/{plugin}/{OTHER}-data")
    assert volumes(mine, path) == 1
    assert volumes(mine, other) == 2


NAMED = event(1, pod="shop/web-0", pod_uid=POD)
RENAMED = event(100, pod="shop/web-0", pod_uid=OTHER)


@pytest.mark.parametrize(
    ("one", "uid"),
    [
        (event(0, pod="shop/web-0"), POD),
        (event(50, pod="shop/web-0"), POD),
        (event(99, pod="shop/web-0"), POD),
        (event(99, kind="pod.added", pod="shop/web-0"), OTHER),
        (event(94, kind="pod.added", pod="shop/web-0"), POD),
        (event(100, pod="shop/web-0"), OTHER),
        (event(900, pod="shop/web-0"), OTHER),
        (event(900, pod="shop/web-0", pod_uid=POD), POD),
        (event(900, pod="shop/web-1"), "shop/web-1"),
        (event(900, pod_name="web-0"), OTHER),
        (event(900, pod_name="web-1"), "web-1"),
        (event(900), ""),
    ],
)
def test_a_name_is_held_from_a_time_on(one, uid):
    """A pod name is leased to a UID until another takes it; the line that announces a pod looks a little ahead.

    A name that no line gives a UID stands for itself; one without a namespace is that of the only pod called so.
    """
    known = Identities([NAMED, RENAMED])
    assert known.pod_uid(one) == uid
    assert known.pods(one) == ([uid] if uid else [])


def test_how_far_ahead():
    """The constant of the table above."""
    assert FORWARD == 5 * SECOND
    assert Identities([NAMED, RENAMED]).name_of(OTHER) == "shop/web-0"
    assert Identities([NAMED]).name_of(OTHER) == ""


def test_a_static_pod():
    """A static pod's UID is a hash of 32 digits."""
    known = Identities([event(1, pod="kube-system/etcd-a", pod_uid=STATIC)])
    assert known.pod_uid(event(9, pod="kube-system/etcd-a")) == STATIC
    assert known.volume(event(target_path=TARGET.replace(POD, STATIC))) is not None


def test_a_line_of_several_pods():
    """`SyncLoop ADD` names many pods; each is itself, and no name is leased by such a line."""
    known = Identities([NAMED, event(2, pod="shop/db-0", pod_uid=OTHER)])
    assert known.pods(event(3, pods="[shop/web-0 shop/db-0 shop/new-0]")) == [POD, OTHER, "shop/new-0"]
    assert known.pods(event(3, pods=f"web-0_shop({POD}), db-0_shop({OTHER})")) == [POD, OTHER]


@pytest.mark.parametrize(
    "told",
    [
        [
            event(
                1,
                sandbox_id=SANDBOX,
                pod_metadata=f"&PodSandboxMetadata{{Name:web-0,Uid:{POD},Namespace:shop,Attempt:0,}}",
            )
        ],
        [NAMED, event(2, sandbox_id=SANDBOX, pod="shop/web-0")],
        [event(0, sandbox_id=SANDBOX, pod="shop/web-0"), NAMED],
        [event(1, kind="pod.pleg", pod="shop/web-0", pod_uid=POD, attrs={"data": SANDBOX})],
        [
            event(1, kind="pod.pleg", pod="shop/web-0", pod_uid=POD, attrs={"data": "ee" * 32}),
            event(2, kind="pod.pleg", pod="shop/web-0", pod_uid=POD, attrs={"data": SANDBOX}),
        ],
    ],
)
def test_a_sandbox_is_its_pods(told):
    """By containerd's metadata, by a name held then or learned later, and by each of PLEG's lines a sandbox is known."""
    assert Identities(told).pod_uid(event(9, sandbox_id=SANDBOX)) == POD


def test_a_pod_known_by_its_name_alone():
    """It owns its sandbox, and is described without a UID, whatever it is called."""
    told = [event(1, sandbox_id=SANDBOX, pod="shop/web-1"), NAMED]
    assert Identities(told).pod_uid(event(9, sandbox_id=SANDBOX)) == "shop/web-1"
    ids = {"pod": "shop/web-1", "namespace": "shop", "pod_name": "web-1"}
    named = describe((SubjectKind.POD, "shop/web-1"), told[:1], Identities(told))
    assert (named.name, named.ids) == ("shop/web-1", ids | {"sandbox_id": SANDBOX})
    assert describe((SubjectKind.POD, "web-1"), [], Identities(told)).ids == {"pod_name": "web-1"}


def test_a_container_is_its_sandboxs():
    """A container that was made in a sandbox belongs to the sandbox's pod, whichever is known first."""
    sandbox = event(1, sandbox_id=SANDBOX, pod_uid=POD)
    container = event(2, sandbox_id=SANDBOX, container_id=CONTAINER)
    for order in ([sandbox, container], [container, sandbox]):
        assert Identities(order).pod_uid(event(9, container_id=CONTAINER)) == POD


def test_a_driver_names_itself():
    """A driver's log is known by the name it gives at start, and only that log."""
    known = Identities(
        [event(1, kind="csi.driver.banner", source="a.log", driver=DRIVER), event(2, driver="other.example.org")]
    )
    assert (known.driver_of("a.log"), known.driver_of("log")) == (DRIVER, "")


EVENTS = [
    SETUP,
    event(1, volume_handle=HANDLE),
    event(2, target_path=TARGET),
    event(3, staging_path=STAGING),
    event(4, spec_name="pvc-2", volume_handle="vol-2"),
    event(5, target_path=TARGET.replace(PV, "pvc-2")),
    event(6, unique_name="kubernetes.io/csi/b.example.org^data"),
    event(7, unique_name="kubernetes.io/csi/a.example.org^data"),
    event(8, volume_handle="data"),
    event(9, unique_name=f"kubernetes.io/csi/{POD}-inline"),
    event(10, volume_handle=inline_handle(POD, "inline")),
    event(11, attachment=attachment_name(HANDLE, DRIVER, "node-a"), node="node-a"),
    event(12, node="node-a"),
    event(13, spec_name="pvc-9"),
]


@given(st.permutations(EVENTS))
def test_the_order_of_lines_does_not_matter(shuffled):
    """In whatever order names are learned, the same lines speak of the same volumes, under the same key."""
    assert [Identities(shuffled).volume(one) for one in EVENTS] == [Identities(EVENTS).volume(one) for one in EVENTS]
