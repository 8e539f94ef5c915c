"""What is a name in a log, and what it becomes when the log is to be shared."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.safe.names.learn import PLACES, Learner
from kvdiag.safe.names.mask import Mask

UID = "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c"
ID = "3f2a9c" * 10 + "3f2a"

LEARNT = [
    ('"SyncLoop ADD" source="api" pods=["shop/web-0","shop/cart-1"]', {"shop": "ns", "web-0": "pod", "cart-1": "pod"}),
    ('"Patch status for pod" pod="shop/web-0" podUID="x"', {"shop": "ns", "web-0": "pod"}),
    (f"failed container=payroll pod=web-0_shop({UID})", {"web-0": "pod", "shop": "ns"}),
    (f"/var/log/pods/shop_web-0_{UID}/payroll/0.log", {"shop": "ns", "web-0": "pod", "payroll": "ctr"}),
    (
        f'msg="RunPodSandbox for &PodSandboxMetadata{{Name:web-0,Uid:{UID},Namespace:shop,Attempt:0,}}"',
        {"web-0": "pod", "shop": "ns"},
    ),
    (rf"for name:\"web-0\" uid:\"{UID}\"  namespace:\"shop\"", {"web-0": "pod", "shop": "ns"}),
    (r"for container &ContainerMetadata{Name:payroll,Attempt:0,}", {"payroll": "ctr"}),
    ("GET /api/v1/namespaces/shop/secrets/tls-shop?limit=1", {"shop": "ns", "tls-shop": "obj"}),
    ('nodeName="worker-1.acme.example"', {"worker-1": "node", "acme.example": "host"}),
    (r"MountVolume.SetUp failed: configmap \"web-settings\" not found", {"web-settings": "obj"}),
    (
        'Pulling image="registry.acme.example/team/payroll:1.2"',
        {"registry": "host", "acme.example": "host", "team": "img", "payroll": "img"},
    ),
    ("dial tcp: lookup db.acme.example: no such host", {"db": "host", "acme.example": "host"}),
    ('User "system:serviceaccount:shop:robot" cannot', {"shop": "ns", "robot": "obj"}),
    (f"PVC pvc-{UID} volumeName=pvc-{UID}", {}),
    ('User "jdoe" cannot list; certificate CN=mmiller,O=acme:devs', {"jdoe": "user", "mmiller": "user", "acme": "org"}),
    ("CN=system:node:worker-9 O=system:masters username=system:anonymous", {"worker-9": "node"}),
    ("arn:aws:iam::123456789012:role/x 123456789012.dkr.ecr.eu-west-1.amazonaws.com", {"123456789012": "account"}),
    ("projects/acme-prod/zones/europe-west1-b/disks/disk-web", {"acme-prod": "account", "disk-web": "obj"}),
    (
        "/subscriptions/x/resourceGroups/MC_acme_west/providers/Microsoft.Compute/disks/disk-web",
        {"MC_acme_west": "account", "disk-web": "obj"},
    ),
    ("Serial Number: WD-WX41D88 serial=S4EWNX0M", {"WD-WX41D88": "serial", "S4EWNX0M": "serial"}),
    ("mount -t nfs -o vers=4 nfs01.acme.example:/export /m", {"nfs01": "host", "acme.example": "host"}),
    ("mount -t cifs //files/team /m", {"files": "host", "team": "obj"}),
    (
        "mount -o username=jdoe,domain=ACME //files/team /m",
        {"jdoe": "user", "ACME": "org", "files": "host", "team": "obj"},
    ),
    ("cannot contact any KDC for realm 'ACME'; user ACME\\jdoe", {"ACME": "org", "jdoe": "user"}),
    ("subject=CN=mmiller,OU=sales,O=acme,L=Bern", {"mmiller": "user", "sales": "org", "acme": "org", "Bern": "org"}),
    ("uid=jdoe,ou=sales,dc=acme", {"jdoe": "user", "sales": "org", "acme": "org"}),
    ("CRON[811]: (jdoe) CMD (run) opened by mmiller(uid=1000)", {"jdoe": "user", "mmiller": "user"}),
    ('user "jdoe" groups=["sales"]', {"jdoe": "user", "sales": "org"}),
    ('volume_context:<key:"server" value:"nas-acme" >', {"nas-acme": "host"}),
    ('{key:"subDir" value:"payroll"} {key:"shareName" value:"acme"}', {"payroll": "obj", "acme": "obj"}),
    ("rbd image acme_pool/payroll-img", {"acme_pool": "obj", "payroll-img": "obj"}),
    ('--cluster-name=acme-1 context=acme-2 cluster "acme-3"', {"acme-1": "obj", "acme-2": "obj", "acme-3": "obj"}),
    ("--cluster-name=minikube context=kind-kind", {}),
    ('storageClass "acme-gold" configmap shop/orders', {"acme-gold": "obj", "shop": "ns", "orders": "obj"}),
    ("nameserver search shop.svc.cluster.local", {"shop": "ns"}),
    ("ID_SERIAL=SAMSUNG_S4EWNX0M", {"S4EWNX0M": "serial"}),
    (
        "[gold] payroll/disk-7.vmdk [gold] kubevols/x-8.vmdk",
        {"gold": "obj", "payroll": "obj", "disk-7": "obj", "x-8": "obj"},
    ),
    ("gs://acme-backup/x", {"acme-backup": "account"}),
    ("selector costcenter=CC-7,team=sales", {"CC-7": "label", "sales": "label"}),
    ("back-off pulling acme/payroll:1.2 here", {"acme": "img", "payroll": "img"}),
    ('"Volume detached" UniqueName="kubernetes.io/csi/csi.example.org^v" namespace="default"', {}),
]


@pytest.mark.parametrize(("line", "names"), LEARNT)
def test_what_is_a_name(line, names):
    """Names are learnt where they stand, and nothing is that all clusters share or that is an id."""
    learner = Learner(frozenset())
    learner.learn(line)
    assert learner.names == names


@pytest.mark.parametrize("line", [line for line, _ in LEARNT] + [line.upper() for line, _ in LEARNT])
def test_a_place_has_one_of_its_signs(line):
    """What a pattern finds it finds behind its signs, too, by which a line that has none of them is passed over."""
    for _, signs, place in PLACES:
        if place.search(line):
            assert not signs or any(sign in line.casefold() for sign in signs), place.pattern


def test_a_word_of_the_messages_stays():
    """A pod called as a word that upstream prints is not renamed: the messages would not be understood."""
    learner = Learner(frozenset({"driver"}))
    learner.learn('pod="shop/driver"')
    assert learner.names == {"shop": "ns"}


# What is said, S for what tells whose it is. Kernel, runtime and session lines have no header that klog writes.
KLOG, LOGRUS = "I0312 05:49:00.241725  190330 server.go:12] ", 'time="2024-03-12T05:49:00.2Z" level=error msg="'
KERNEL = "Mar 12 05:49:00 worker-1 kernel: "
OWNED = [
    *(("link=S up", mac) for mac in ("0a:1b:2c:3d:4e:5f", "0A-1B-2C-3D-4E-5F", "0a1b.2c3d.4e5f")),
    ('node="S.eu-west-1.compute.internal"', "ip-172-20-30-40"),
    ("dial S.eu-west-1.compute.amazonaws.com", "ec2-203-0-113-7"),
    ("provider=aws:///eu-west-1a/S", "i-0f1e2d3c4b5a69788"),
    ('subject "CN=S,OU=x1,O=y1"', "Jane Roe"),
    ('subject "CN=x1,O=S"', "Globex Corp"),
    ("C=US, O=x1, CN=x2, emailAddress=S", "bwayne@initech.example"),
    ("open /home/S/.kube/config", "ckent"),
    (r"open C:\Users\S\.kube", "lluthor"),
    ('user "S" denied', "skyle"),
    ("arn:aws:iam::S:role/x", "210987654321"),
    ("arn:aws:iam::210987654321:role/S", "globex-nodes"),
    ("projects/S/zones/europe-west1-b/disks/d1", "globex-prod-7"),
    ("/subscriptions/x/resourceGroups/S/providers/y", "MC_globex_aks"),
    ("s3://S/etcd", "globex-backups"),
    ("wwn=S", "0x5006016012345678"),
    ("multipath S", "36006016012a03b00d2e1f4a5b6c7d8e9"),
    ("port S", "50:06:01:60:3b:a0:11:22"),
    ("portal of S", "iqn.2010-10.org.openstack:volume-ledger1"),
    ("Serial Number: S", "WD-WX41D88JK123"),
    ("/dev/disk/by-id/ata-Samsung_SSD_860_EVO_S", "S3Z9NB0K512345X"),
    ("-t nfs -o vers=4.1 S:/vol /m", "filer8"),
    ("nfs: server S not responding, still trying", "filer7"),
    ("mount -t cifs //S/share1 /m", "smbsrv3"),
    ("could not resolve address for S: Unknown error", "smbsrv4"),
    ("back-off pulling S/ledger:2.1 for a while", "globexteam"),
    ("pulled harbor.S:8443/team1/app1@sha256:5adb in 3s", "globex.example"),
    ("sandbox S", "5ADB082E9D2BCC43EE478B47BE2FDBC5BA96C6EADDBF5E6AD03171251A0B71E9"),
    ("uid S", "1F0C3A52-8D7B-4E6F-9A10-5B2C7D8E9F01"),
    *((f"mount error(13): {share}", name) for share, name in (
        (r"\\S\pay$", "ACMEBANK-FS02"), (r"\\\\S\\pay", "ACMEBANK-FS03"), (r"\\ACMEBANK-FS02\S", "ledger$"), (r"\\\\ACMEBANK-FS03\\S", "finance"),
        ("//S/pay", "ACMEBANK-FS04"), ("//ACMEBANK-FS04/S", "Wombat_Share"),
    )),
    ("domain controller S is gone", "ACMEBANK-DC01"),
    ("lookup acmebank-dc01 on S", "acmebank-dc01"),
    ('Server "S" is not responding', "GLOBEXNAS"),
    ("mount -t nfs 10.0.0.1:/export/S/x /m", "payroll"),
    ("mount.nfs: filer9:/vol/S failed", "quokkas"),
    ('volume_attributes:<key:"share" value:"/export/S" >', "treasure"),
    ('"server":"filer9","path":"/exports/S"', "opossum"),
    ("failed in namespace S: not found", "treasury"),
    ("namespace S is terminating", "treasury-dev"),
    ("labels: costcenter=S,team=x1", "CC-77120"),
    ("labels: costcenter=x1,team=S", "zeppelin"),
    ("Labels:map[string]string{costcenter: x1,team: S,}", "axolotl"),
    ("labels map[crew:S tier:db]", "narwhal"),
    ('labels:<key:"costcenter" value:"S" >', "numbat"),
    ('{"labels":{"team":"S","app":"web"}}', "pangolin"),
    ("labels app.kubernetes.io/name=S", "ledgerx"),
    ("model Samsung serial S firmware 1", "S4EVNX0M712345"),
    ("[S] kubevols/pvc.vmdk not found", "ACME-DS-GOLD01"),
    ("datastore S is full", "Gold_Store7"),
    ('datacenter "S" not found', "ACME-FRA"),
    ("folder /S/vm/k8s not found", "Frankfurt"),
    ("Accepted publickey for S from 203.0.113.44", "bgordon"),
    ("session opened for user S(uid=0)", "dgrayson"),
]  # fmt: skip


@pytest.mark.parametrize("head", [KLOG, LOGRUS, KERNEL, ""], ids=["klog", "logrus", "kernel", "none"])
def test_nothing_tells_whose_a_cluster_is(head):
    """Hosts, disks, clouds, people and images of a log are learnt from every line, whichever writes it, and replaced."""
    lines = [head + re.sub(r"(?<![A-Za-z])S(?![A-Za-z])", lambda _, name=name: name, said) for said, name in OWNED]
    learner = Learner(frozenset())
    for line in lines:
        learner.learn(line)
    shared = Mask(learner.names, b"a key").apply("\n".join(lines))
    assert not [name for _, name in OWNED if name in shared]


KEPT = [
    "encoded in UTF-8 by AES-256 and SHA-512, CVE-2024-21626, ISO-8859-1, HTTP-2",
    "in namespace k8s.io and namespace moby; a namespace for pods; the namespace is terminating; namespace not found",
    'labels: kubernetes.io/arch=amd64,topology.kubernetes.io/zone=eu-west-1a node.kubernetes.io/instance-type="m5.large"',
    "mount -t tmpfs /var/lib/kubelet/pods; open /etc/kubernetes/pki/ca.crt: no such file; path: /var/run/x.sock",
    r"in\\ntwo\\nlines and C:\\Windows\\System32",
    "serial console; a serial number is missing; datastore is full; datacenter not found",
]


@pytest.mark.parametrize("line", KEPT)
def test_words_that_are_no_names(line):
    """Words near to those that name something of somebody's own are none."""
    learner = Learner(frozenset())
    learner.learn(line)
    assert learner.names == {}


@pytest.mark.parametrize("most", [0, 100_000])
def test_names_without_a_table(most, monkeypatch):
    """Of more names than a table is kept for each is replaced as well, by one of its own."""
    monkeypatch.setattr("kvdiag.safe.names.mask.MOST_TABLED", most)
    names = {f"web-{number}": "pod" for number in range(500)}
    mask = Mask(names, b"a key")
    new = [mask.apply(name) for name in names]
    assert len({*new, *names}) == 1000
    assert mask.apply("data-web-7") == f"data-{new[7]}"


PROCESSES = """USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           1  0.0  0.1  12345  6789 ?        Ss   05:49   0:00 /sbin/init
polkitd      711  0.0  0.1  12345  6789 ?        Ss   05:49   0:00 polkitd
jtodd       4711  0.0  0.1  12345  6789 ?        Ss   05:49   0:00 bash
-rw-r--r--. 1 nwing payteam 123 Mar 12 05:40 config.yaml
drwxr-x---  2 1001 root 123 Mar 12 05:40 mount
waiting 4711 times"""


def test_people_in_tables():
    """Who runs a process or owns a file is a person, but for accounts that each system has; what follows a table is none."""
    learner = Learner(frozenset())
    for line in PROCESSES.splitlines():
        learner.learn(line)
    assert learner.names == {"jtodd": "user", "nwing": "user", "payteam": "user"}


NAMES = {"web-0": "pod", "shop": "ns", "worker-1": "node", "web": "ctr", "acme.example": "host"}
MASK = Mask(NAMES, b"a key")
OF = {name: MASK.apply(name) for name in NAMES}

MASKED = [
    ('pod="shop/web-0"', f'pod="{OF["shop"]}/{OF["web-0"]}"'),
    (r"message=\"x\nweb-0 failed\"", rf"message=\"x\n{OF['web-0']} failed\""),
    ("data-web-0", f"data-{OF['web-0']}"),
    ("web-0_shop", f"{OF['web-0']}_{OF['shop']}"),
    ("worker-1.acme.example", f"{OF['worker-1']}.{OF['acme.example']}"),
    ("%2Fweb-0", f"%2F{OF['web-0']}"),
    ("webhook web.go:12] --web=x", "webhook web.go:12] --web=x"),
    ("at 10:02:19.123 from 127.0.0.1:80 :: v1.29.3", "at 10:02:19.123 from 127.0.0.1:80 :: v1.29.3"),
    ("cri 1732131567000000 0xc000123456", "cri 1732131567000000 0xc000123456"),
    ("at 10:02:19 12-34-56", "at 10:02:19 12-34-56"),
    ("mnt@1000.service", "mnt@1000.service"),
]


@pytest.mark.parametrize(("line", "masked"), MASKED)
def test_what_it_becomes(line, masked):
    """A name becomes another wherever it stands as a word; words, times and addresses that tell nothing stay."""
    assert MASK.apply(line) == masked


def test_ids_keep_their_shape_and_beginning():
    """A UUID stays one however it is written, and the short form of an id is the beginning of the long one."""
    new = MASK.apply(UID)
    assert re.fullmatch(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", new)
    assert new != UID
    assert MASK.apply(f"kubepods-pod{UID.replace('-', '_')}.slice") == f"kubepods-pod{new.replace('-', '_')}.slice"
    assert MASK.apply(f"pvc-{UID}") == f"pvc-{new}"
    assert MASK.apply(ID).startswith(MASK.apply(ID[:13]))
    assert MASK.apply(ID[:13]).startswith(MASK.apply(ID[:12]))
    assert len(MASK.apply(ID)) == 64


def test_addresses_and_people():
    """An address becomes one of a private network, a mail address somebody's at example.com."""
    assert re.fullmatch(r"10(\.\d{1,3}){3}:6443", MASK.apply("203.0.113.7:6443"))
    assert re.fullmatch(r"\[fd00::[0-9a-f]{4}\]:6443", MASK.apply("[2001:db8::17]:6443"))
    assert re.fullmatch(r"user-[0-9a-f]{6}@example\.com", MASK.apply("jane.doe@acme.example"))


KINDS = [
    ("0a:1b:2c:3d:4e:5f", r"02(:[0-9a-f]{2}){5}"),
    ("0A-1B-2C-3D-4E-5F", r"02(-[0-9A-F]{2}){5}"),
    ("50:06:01:60:3b:a0:11:22", r"50(:[0-9a-f]{2}){7}"),
    ("0x5006016000000000", r"0x[0-9a-f]{16}"),
    ("naa.6006016012345678", r"naa\.[0-9a-f]{16}"),
    ("36006016012a03b00d2e1f4a5b6c7d8e9", r"3[0-9a-f]{32}"),
    ("iqn.2001-04.org.acme:disk-1", r"iqn\.2001-04\.com\.example:[0-9a-f]{12}"),
    ("i-0f1e2d3c4b5a69788", r"i-[0-9a-f]{17}"),
    ("i-1a2b3c4d", r"i-[0-9a-f]{8}"),
    ("0a1b.2c3d.4e5f", r"02[0-9a-f]{2}(\.[0-9a-f]{4}){2}"),
    ("ec2-203-0-113-7", r"ec2-10(-\d{1,3}){3}"),
    ("ip-10-20-30-40", r"ip-10(-\d{1,3}){3}"),
    ("1F0C3A528D7B4E6F", r"[0-9A-F]{16}"),
]


@pytest.mark.parametrize(("name", "shape"), KINDS)
def test_a_name_stays_of_its_kind(name, shape):
    """What has a shape of its own becomes another of that shape, the same everywhere, and is counted."""
    mask = Mask({}, b"a key")
    new = mask.apply(f"({name})")[1:-1]
    assert new != name
    assert re.fullmatch(shape, new)
    assert mask.apply(f'x="{name}" {name}') == f'x="{new}" {new}'
    assert sum(mask.replaced.values()) == 1


def test_what_belongs_together_stays_together():
    """A host of EC2 has its address in its name, a disk its volume's id, and a LUN the id that SCSI gives it."""
    mask = Mask({}, b"a key")
    assert mask.apply("ip-10-20-30-40") == "ip-" + mask.apply("10.20.30.40").replace(".", "-")
    assert mask.apply("vol0f1e2d3c4b5a69788") == mask.apply("vol-0f1e2d3c4b5a69788").replace("-", "")
    assert mask.apply("36006016012a03b00d2e1f4a5b6c7d8e9") == "3" + mask.apply("6006016012a03b00d2e1f4a5b6c7d8e9")
    assert mask.apply("1F0C3A528D7B4E6F") == mask.apply("1f0c3a528d7b4e6f").upper()


def test_figures_become_figures():
    """The id of an account becomes another of as many figures."""
    mask = Mask({"123456789012": "account"}, b"a key")
    new = mask.apply("123456789012")
    assert re.fullmatch(r"\d{12}", new)
    assert new != "123456789012"
    assert mask.apply("123456789012.dkr.ecr") == f"{new}.dkr.ecr"


def test_without_the_key_nobody_can_tell():
    """Another key gives other names; the same gives the same."""
    assert Mask(NAMES, b"another").apply("web-0") != OF["web-0"]
    assert Mask(NAMES, b"a key").apply("web-0") == OF["web-0"]


@given(st.lists(st.sampled_from([*NAMES, UID, ID, "10.1.2.3", " ", "-", "/", "_", '"', r"\n", "x", "7"]), max_size=12))
def test_what_is_masked_is_masked_alike(pieces):
    """The same text gives the same, also from a mask that has seen nothing before."""
    text = "".join(pieces)
    assert MASK.apply(text) == Mask(NAMES, b"a key").apply(text)
