"""Words inside an error: whom the line around them is about, and in whose log they count."""

from __future__ import annotations

import pytest

from kvdiag.events.within import pod_around
from kvdiag.formats.authors import Attribution, Byline

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (f'"CreatePodSandbox for pod failed" err="no" pod="shop/web-0" podUID="{UID}"', ["shop/web-0", UID]),
        (f'Error syncing pod {UID} ("web-0_shop({UID})"), skipping: no', ["shop/web-0", UID]),
        (f'MountVolume.SetUp failed for volume "a" pod "web-0" (UID: "{UID}") : no', [UID]),
        ('"Event listed" object="web-0" kind="Pod" type="Warning" message="no"', ["web-0"]),
        ('"Event listed" object="worker-1" kind="Node" type="Warning" message="no"', []),
        ('"two" pods="a" err="no" pod="shop/web-0" other pod="shop/web-1"', []),
        ("failed to destroy network: no", []),
    ],
)
def test_the_pod_around(line, names):
    """The pod of a line is named in many ways; where several are, none is taken."""
    assert [ref.value for ref in pod_around(line.encode())] == names


@pytest.mark.parametrize(
    ("by", "ident", "relays"),
    [
        (Attribution(), "kubelet", True),
        (Attribution(), "dockerd", True),
        (Attribution(), "kube-apiserver", False),
        (Attribution(Byline("", "app")), "", False),
        (Attribution(Byline("kubelet", "kubelet")), "", True),
        (Attribution(Byline("kube-controller-manager", "")), "", False),
    ],
)
def test_who_relays(by, ident, relays):
    """What stands in a container's own log or in one of the control plane is no error of the node."""
    assert by.may_relay(ident, b"failed to find plugin") is relays
