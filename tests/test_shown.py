"""What may stand in a log and must not be shown as it is: control sequences, markup, formulas, secrets; in any output."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.compare import compare
from kvdiag.analysis.inventory import take_inventory
from kvdiag.analysis.timeline import timelines
from kvdiag.history.views.inventory import InventoryFilter
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind
from kvdiag.report import REPORTS, RenderOptions
from kvdiag.report.ansi import without_styles
from kvdiag.report.comparison import write_comparison
from kvdiag.report.inventory_tables import write
from kvdiag.report.outputs import write_report
from kvdiag.report.report_text import ReportText
from kvdiag.report.timeline import timeline_writer
from kvdiag.safe.clean import clean
from kvdiag.safe.secrets import REDACTED, redacted
from tests.conftest import run_kvdiag

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
# All that moves a cursor, opens a link, sets the clipboard, rings, turns words about, or ends a line unseen.
CONTROL = "\x1b[2J\x1b]8;;http://evil.example.com\x1b\\\x1b]52;c;YQ==\x07\x9b31m\x08\x7f\x85\u202egnp\u2066\u200f\u2028\u2029\ufeff\u00ad\u180e\U000e0041"
MARKUP = """<script>alert(1)</script><img/src=x/onerror=alert(2)>'onmouseover='alert(3)|`id`|$(id)"""
HOSTILE = CONTROL + MARKUP
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
NAS = "n4s-s3cr3t-n4s"
HANDLE = f"//backup:{NAS}@nas.example.com/share"
FORMULA = "=cmd|x"
# What is said, and what of it is secret.
SECRETS = [
    ("token=hunter2hunter2", "hunter2hunter2"),
    ("password='correct horse battery'", "horse battery"),
    (r"\"password\":\"correct}pony,staple\"", "pony,staple"),
    ("mount -o username=u,password=p4ssw0rd4 //nas/share", "p4ssw0rd4"),
    ("--password hunter3hunter3", "hunter3hunter3"),
    ("DB_PASS=sw0rdf1sh", "sw0rdf1sh"),
    ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("map[Authorization:[Bearer abcdefghijklmnop]]", "abcdefghijklmnop"),
    ("bearer qrstuvwxyz012345", "qrstuvwxyz012345"),
    ("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl", "eyJzdWIiOiJzeXN0ZW0ifQ"),
    ("serviceAccountToken: kubeconf1gt0ken", "kubeconf1gt0ken"),
    ("client-key-data: bm90IGEgcmVhbCBrZXk=", "bm90IGEgcmVhbCBrZXk"),
    ("LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF", "U0EgUFJJVkFURSBLRVktLS0tLQpNSUlF"),
    ("-----BEGIN RSA PRIVATE KEY-----MIIEowIBAAKCAQEA-----END RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA"),
    (r"\"secrets\":{\"userID\":\"admin\",\"userKey\":\"AQDvNl}xxyyzz==\"}", "xxyyzz"),
    ("NodeStageSecrets:map[userID:cephuser0 key:AQBcephkey0]", "AQBcephkey0"),
    (r"secrets:<key:\"accessKey\" value:\"pr0toval1\" >", "pr0toval1"),
    ("EnvVar{Name:GREETING,Value:env1secret,ValueFrom:nil,}", "env1secret"),
    ("&KeyValue{Key:GREETING,Value:env2secret,}", "env2secret"),
    (r"{\"name\":\"GREETING\",\"value\":\"env3secret\"}", "env3secret"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("aws_secret_access_key = wJalrXUtnFEMIbPxRfiCY", "wJalrXUtnFEMIbPxRfiCY"),
    ("AccountKey=Eby8vdM02xNOcqFl==;", "Eby8vdM02xNOcqFl"),
    ("https://disk.example.com/v?sv=2024&sig=s1gnatur3of4url&se=1", "s1gnatur3of4url"),
    ("https://admin:s3cr3tpass@registry.example.com/", "s3cr3tpass"),
    (r"{\"auths\":{\"r.example.com\":{\"auth\":\"YWRtaW46c2VjcmV0\"}}}", "YWRtaW46c2VjcmV0"),
]
BARE = [NAS, *(bare for _, bare in SECRETS)]
# Words that are near to those of secrets, and tell what is wrong.
PLAIN = [
    'failed to fetch token: "" for pod',
    'secrets "db" not found; ImagePullSecrets:[]LocalObjectReference{LocalObjectReference{Name:regcred,},}',
    "secrets:***stripped***",
    "pods=2 tokens=5 key=value passes through",
    "https://registry.example.com:5000/v2/ and //server/share",
    'references non-existent secret key: password"',
    "Type:FileOrCreate,},Path:/etc/kubernetes/pki/sa.key",
]


def failure(minute: int, error: str, volume: str, handle: str) -> str:
    """Give a kubelet line that says why a volume cannot be unmounted."""
    return (
        f'E0312 08:{minute}:20.000000    2201 nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/csi/disk.csi.example.com^{handle} podName:{UID} nodeName:}}" failed. '
        f"No retries permitted until 2024-03-12 08:{minute}:21.6 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). "
        f'Error: UnmountVolume.TearDown failed for volume "{volume}" (UniqueName: "kubernetes.io/csi/disk.csi.example.com^{handle}") pod "{UID}" (UID: "{UID}") : '
        "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name disk.csi.example.com not found "
        f"in the list of registered CSI drivers {error}\n"
    )


def added(pod: str) -> str:
    """Give a kubelet line about a pod that came."""
    return f'I0312 08:10:00.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["{pod}"]\n'


def not_synced(number: int, error: str) -> str:
    """Give a kubelet line in JSON, in which control characters are escaped on their way to the log."""
    entry = {
        "ts": 1710231600000.0 + number,
        "caller": "kubelet/pod_workers.go:951",
        "msg": "Error syncing pod, skipping",
    }
    return json.dumps(entry | {"pod": {"name": "web-0", "namespace": "shop"}, "podUID": UID, "err": error}) + "\n"


KUBELET = "".join((
    added("shop/web-0"),
    added(f"shop/{HOSTILE}"),
    *(failure(11, text, "data", HANDLE) for text, _ in SECRETS),
    *(failure(minute, HOSTILE, "data", f"{FORMULA}{HOSTILE}") for minute in range(12, 17)),
    failure(18, "", "other", "vol-other"),
    *(not_synced(number, f"{HOSTILE}\ud800\0 {text}") for number, (text, _) in enumerate(SECRETS)),
    added("shop/other"),
))  # fmt: skip
CONTAINERD = (
    f'time="2024-03-12T08:10:03.000000000Z" level=info msg="PullImage \\"{HOSTILE}\\""\n'
    f'time="2024-03-12T08:10:04.000000000Z" level=error msg="RunPodSandbox for &PodSandboxMetadata{{Name:web-0,Uid:{UID},Namespace:shop,Attempt:0,}} failed, error" error="{HOSTILE}"\n'
)
LINE = not_synced(0, HOSTILE + SECRETS[0][0]).strip()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Give a folder whose logs hold all of it; bytes that are no text, too."""
    path = tmp_path_factory.mktemp("shown")
    torn = b'I0312 08:29:31.000000    2201 kubelet.go:2447] "SyncLoop ADD\xed\xa0\x80\xff\xc3" source="api" pods=["shop/web-0"]\n'
    (path / "kubelet.log").write_bytes(KUBELET.encode() + torn)
    (path / "containerd.log").write_bytes(CONTAINERD.encode())
    return path


LOGS = "LOGS"  # stands for the folder
STORIES = (("pod", "shop/web-0"), ("volume", HANDLE))
OUTPUTS = [
    *(["analyze", *more, LOGS] for more in ([], ["-v"])),
    *(["analyze", LOGS, "-o", form] for form in REPORTS if form != "text"),
    *(["timeline", *of, LOGS, "-o", form] for of in STORIES for form in ("text", "json", "html", "trace")),
    ["timeline", *STORIES[1], LOGS, "--raw", "-v"],
    *(
        [kind, LOGS, "-o", form]
        for kind in ("pods", "volumes")
        for form in ("text", "wide", "json", "yaml", "csv", "name")
    ),
    *(["compare", HANDLE, "vol-other", LOGS, "-o", form] for form in ("text", "json")),
    *(["explain", LINE, "-o", form] for form in ("text", "json")),
    ["parse", LOGS],
    ["events", LOGS],
]
each_output = pytest.mark.parametrize("command", OUTPUTS, ids=lambda command: ascii(" ".join(command))[1:40])


@cache
def told(folder: Path, *command: str) -> str:
    """Give what a command says, on both streams."""
    done = run_kvdiag(*(str(folder) if word == LOGS else word for word in command))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@cache
def known(folder: Path, *what: str) -> Callable[[str, TextIO, RenderOptions], None]:
    """Read the logs once; give what writes what is known of them in any form."""
    options = Options(paths=(str(folder),), year=2024)
    match what:
        case ("analyze",):
            report = analyze(options, lanes=True)
            return lambda form, out, looks: write_report(form, report, out, looks)
        case ("timeline", kind, name):
            lines = timelines((SubjectKind(kind),), name, options, print)
            return lambda form, out, looks: timeline_writer(form)(lines, out, looks)
        case _:
            taken = take_inventory(options, InventoryFilter(kind=SubjectKind(what[0].removesuffix("s"))))
            return lambda form, out, looks: write(taken.inventory, form, out, looks)


def written(folder: Path, command: Sequence[str], *, redact: bool) -> str:
    """Give what a command says: each as text, and once in JSON, by a run of it; in other forms by their writer."""
    form = command[-1]
    if command[-2] != "-o" or command[0] in {"explain", "compare"} or form in {"text", "json"}:
        return told(folder, *command, *(() if redact else ("--no-redact",)))
    out = io.StringIO()
    known(folder, *command[: command.index(LOGS)])(form, out, RenderOptions(redact=redact))
    return out.getvalue()


@each_output
def test_what_is_shown(command, folder):
    """Nothing that a terminal obeys comes out, and no secret unless that was asked for."""
    hidden, shown = (written(folder, command, redact=redact) for redact in (True, False))
    assert not UNSAFE.search(hidden + shown), ascii(UNSAFE.findall(hidden + shown))
    assert secrets_in(hidden) == []
    assert secrets_in(shown) or is_brief(command)


def secrets_in(said: str) -> list[str]:
    """Give the secrets that a text shows, whatever lines it was wrapped to."""
    texts = (re.sub(r"\s+", " ", said), re.sub(r"\s+", "", said))
    return [bare for bare in BARE if any(bare in text for text in texts)]


def is_brief(command: list[str]) -> bool:
    """Whether a command shows so little of a log that no secret is among it."""
    return command[0] in {"pods", "volumes", "compare"} or command == ["analyze", LOGS] or "prometheus" in command


@pytest.mark.parametrize("command", ["parse", "events"])
def test_all_secrets_that_were_asked_for(command, folder):
    """With --no-redact nothing at all is blotted out."""
    said = told(folder, command, LOGS, "--no-redact")
    assert [bare for bare in BARE if bare not in said] == []
    assert REDACTED not in said


def test_a_log_makes_no_link_and_no_colour(folder):
    """In colour and with links there are no escapes but our own, and no link but to a log that was read."""
    options, looks = Options(paths=(str(folder),), year=2024), RenderOptions(colour=True, links=True)
    out = io.StringIO()
    write_report("text", analyze(options), out, looks)
    for kind, name in STORIES:
        timeline_writer("text")(timelines((SubjectKind(kind),), name, options, print), out, looks)
    write_comparison(compare(HANDLE, "vol-other", options, print), "text", out, looks)
    said = out.getvalue()
    led = set(re.findall("\x1b]8;[^;]*;([^\x1b]*)\x1b", said))
    assert led == {"", *(f"file://{os.uname().nodename}{folder}/{name}.log" for name in ("kubelet", "containerd"))}
    assert not UNSAFE.search(without_styles(said).replace("\t", " ")), ascii(UNSAFE.findall(without_styles(said)))


def texts_in(value: object) -> Iterator[str]:
    """Give every text that an output could find in what it is given."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Sequence | Iterator):
        for part in value:
            yield from texts_in(part)


def test_an_output_for_people_is_given_no_secret(folder):
    """Whatever of a report text an output writes, no secret is in it and nothing that moves a cursor."""
    report = analyze(Options(paths=(str(folder),), year=2024))
    text = ReportText(report)
    parts = [getattr(text, name) for name in dir(text) if not name.startswith("_") and name not in {"safe", "finding"}]
    values = [part() if name == "known" else part for name, part in ((getattr(p, "__name__", ""), p) for p in parts)]
    values += [*text.readings(is_all=True), *text.errors.groups, *text.errors.known(show_benign=True)]
    given = list(texts_in([value for value in values if not callable(value)]))
    assert len(given) > 200
    assert not [one for one in given if UNSAFE.search(one)]
    assert not [bare for bare in BARE if any(bare in one for one in given)]
    raw = list(texts_in(ReportText(report, redact=False).causes))
    assert [bare for bare in BARE if any(bare in one for one in raw)]


class Page(HTMLParser):
    """Collects the elements of a page and their attributes."""

    def __init__(self) -> None:
        """Nothing read yet."""
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.text += data


@pytest.mark.parametrize("command", [["analyze"], *(["timeline", *story] for story in STORIES)], ids=" ".join)
def test_markup_is_text_on_the_page(command, folder):
    """The page has no element and no attribute but its own; what looks like one is text on it."""
    page = Page()
    page.feed(told(folder, *command, LOGS, "-o", "html"))
    assert not page.tags & {"img", "iframe"}
    assert not [name for name in page.attributes if name.startswith("on") or name in {"src", "style"}]
    assert command[1:] != ["pod", "shop/web-0"] or "<script>alert(1)</script>" in page.text


def test_no_cell_is_a_formula(folder):
    """No cell of a table for spreadsheets begins as a formula does; the name is there behind an apostrophe."""
    rows = list(csv.reader(io.StringIO(told(folder, "volumes", LOGS, "-o", "csv"))))
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell[:1] in {*"=+-@\t\r"}]
    assert [cell for cell in cells if cell.startswith(f"'{FORMULA}")]


BAD = f"{CONTROL}\nkvdiag: forged"


@pytest.mark.parametrize(
    "command",
    [
        ["analyze", f"{LOGS}/{BAD}"],
        ["parse", f"{LOGS}/{BAD}"],
        ["redact", f"{LOGS}/{BAD}"],
        ["analyze", LOGS, f"--{BAD}"],
        ["analyze", LOGS, "-o", BAD],
        ["analyze", LOGS, "--patterns", BAD],
        ["analyze", LOGS, "--year", BAD],
        ["analyze", LOGS, "--output-file", f"/no/such/{BAD}"],
        ["timeline", "pod", BAD, LOGS],
        ["timeline", BAD, "x", LOGS],
        ["compare", BAD, "x", LOGS],
        ["pods", LOGS, "--tz", BAD],
        ["explain", BAD.replace(" ", "")],
        ["rules", "show", BAD],
        [BAD],
    ],
    ids=lambda command: ascii(" ".join(command))[1:40],
)
def test_names_of_files_in_messages(command, folder):
    """What is wrong is said without what the name of a file would do to a terminal."""
    done = run_kvdiag(*(word.replace(LOGS, str(folder)) for word in command))
    assert done.returncode in {2, 3}
    assert done.stderr
    assert not UNSAFE.search(done.stdout + done.stderr), ascii(UNSAFE.findall(done.stderr))


def test_names_of_files_that_are_read(tmp_path):
    """The names of logs in a folder and in an archive are not trusted either; nor those that cannot be read."""
    name = f"k{CONTROL.replace('/', '')}.log"
    (tmp_path / name).write_bytes(KUBELET.encode())
    with tarfile.open(tmp_path / "logs.tar", "w") as archive:
        for member in (f"in/{name}", f"in/broken-{name}.gz"):
            header = tarfile.TarInfo(member)
            data = KUBELET.encode() if member.endswith("log") else b"\x1f\x8b\x08\0broken"
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    for command in (["analyze"], ["analyze", "-o", "json"], ["parse"], ["pods"], ["timeline", "pod", "shop/web-0"]):
        done = run_kvdiag(*command, tmp_path)
        assert done.stdout
        assert not UNSAFE.search(done.stdout + done.stderr), ascii(UNSAFE.findall(done.stdout + done.stderr))


def test_a_log_is_not_obeyed_by_the_terminal_it_is_redacted_on(folder):
    """`kvdiag redact` on a terminal shows what is in a log; to a file it goes as it was."""
    command = [sys.executable, "-m", "kvdiag", "redact", folder / "containerd.log"]
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, stderr=subprocess.DEVNULL, check=True)
    os.close(theirs)
    on_terminal = os.read(ours, 1 << 16).decode().replace("\r\n", "\n")
    os.close(ours)
    assert not UNSAFE.search(on_terminal), ascii(on_terminal)
    assert "\\x1b[2J" in on_terminal
    assert CONTROL in subprocess.run(command, capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize(("text", "bare"), SECRETS)
def test_each_secret(text, bare):
    """The secret goes, at any depth of escapes; a second look takes nothing more, and what stood around it stays."""
    for said in (text, text.replace("\\", ""), json.dumps(text)):
        told = redacted(f"before {said} after")
        assert bare not in told
        assert REDACTED in told
        assert redacted(told) == told
        assert told.startswith("before ")


@pytest.mark.parametrize("text", PLAIN)
def test_no_secret_in_it(text):
    """Words near to those of secrets stay."""
    assert redacted(text) == text


PIECES = st.sampled_from(
    [
        *"\x1b\x07\r\n\t\0\x9b\u202e\u2028\ud800a=\"'\\:,}{@ ",
        *("password=", REDACTED, "secrets:{", "token:", "Authorization: ", "Bearer ", "//u:", '"auth":"', "abcd"),
        *("EnvVar{Name:a,Value:", "-----BEGIN PRIVATE KEY-----"),
    ]
)


@given(st.lists(PIECES))
@example(["password=", '"', "\x1b"])
@example(["Authorization: ", "abcd"])
def test_what_is_clean_stays(pieces):
    """Whatever a text holds, it is safe once cleaned, and cleaning it again changes nothing."""
    once = clean("".join(pieces))
    assert not UNSAFE.search(once)
    assert "\n" not in once
    assert clean(once) == once
    assert redacted(once) == once
