"""Tables of pods and volumes: they fit, nothing hostile gets through, and every output says the same."""

import csv
import io
import json

import pytest

from kvdiag.base.clock import SECOND
from kvdiag.history.views.phases import percentiles
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Lifecycle, Phase, Transition
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Entity
from kvdiag.model.values import SubjectKind
from kvdiag.model.views import Inventory, InventoryRow
from kvdiag.report import RenderOptions
from kvdiag.report.inventory_tables import OUTPUTS, write

BEGINS = 1_700_000_000 * SECOND
ENDS = BEGINS + 600 * SECOND


def row(name: str = "default/web-0", *, kind: SubjectKind = SubjectKind.POD, **more) -> InventoryRow:
    ids = {"pod_uid": "u-1"} if kind is SubjectKind.POD else {"volume_handle": "h-1"}
    told = Event(BEGINS, "pod.added", "kubelet", (), {}, Origin("k", 1), "n1", (b"",), BEGINS)
    life = Lifecycle(
        subject=Entity(kind=kind, key=name, name=name, ids=ids),
        machine="pod/1.27",
        transitions=(Transition(told, "ADD", "ABSENT", "ADDED", legal=False, violation="A → B without C"),),
        state="TERMINATED",
        since=BEGINS + 60 * SECOND,
        waits_for="volumes to be unmounted",
    )
    return InventoryRow(life=life, node="n1", illegal=("A → B without C",), **more)


def shown(
    rows: list[InventoryRow], output: str = "text", width: int = 80, *, slow: bool = False, redact: bool = True
) -> str:
    kind = rows[0].life.subject.kind if rows else SubjectKind.POD
    stream = io.StringIO()
    spreads = percentiles(phase for row in rows for phase in row.phases)
    inventory = Inventory(kind=kind, rows=tuple(rows), spreads=spreads, slow=slow, begins=BEGINS, ends=ENDS)
    write(inventory, output, stream, RenderOptions(width=width, redact=redact))
    return stream.getvalue()


def test_a_row():
    """A row says name, state, since when, for how long it is stuck, failed operations and findings."""
    stuck = row(stuck=True, retries=7, findings=("pod-stuck",))
    assert shown([stuck]).splitlines() == [
        "NAME           STATE       SINCE     STUCK  RETRIES  FINDINGS",
        "default/web-0  TERMINATED  22:14:20  9m0s   7        pod-stuck".replace("9m0s ", "9m   "),
    ]


def test_an_uncertain_state_is_marked():
    """A state that nothing has proven since a restart has a question mark."""
    assert "TERMINATED? " in shown([row(certain=False)])


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("slow", [False, True])
def test_lines_fit(width, slow):
    """No line is wider than asked for, and names are cut in their middle; findings then have lines of their own."""
    long = row(
        "a-very-long-namespace/a-very-long-deployment-6c8d5b7f9d-x2k4q",
        findings=("csi-driver-not-registered", "volume-error-permanent"),
        phases=(Phase("unmount", BEGINS, ENDS), Phase("to gone", BEGINS, None)),
    )
    lines = shown([long], width=width, slow=slow).splitlines()
    assert max(map(len, lines)) <= width
    assert "  csi-driver-not-registered" in lines or width > 100
    assert "…" in lines[1] or width > 80


def test_the_end_of_a_generated_name_is_kept():
    """Two pods of one deployment can still be told apart."""
    names = [f"some-namespace/some-deployment-of-many-pods-6c8d5b7f9d-{end}" for end in ("x2k4q", "b9zzw")]
    text = shown([row(name) for name in names], width=60)
    assert "x2k4q" in text
    assert "b9zzw" in text


def test_nodes_are_shown_when_there_are_several():
    """One node needs no column."""
    two = [row(), row("default/web-1")]
    assert "NODE" not in shown(two)
    assert "NODE" in shown([two[0], InventoryRow(life=two[1].life, node="n2")])


def test_volumes_show_their_driver():
    """Volumes have a driver, pods have not."""
    volume = row("pvc-1", kind=SubjectKind.VOLUME, driver="d.example.com")
    assert shown([volume]).splitlines()[0].split() == [
        "NAME",
        "DRIVER",
        "STATE",
        "SINCE",
        "STUCK",
        "RETRIES",
        "FINDINGS",
    ]
    assert "d.example.com" in shown([volume])
    assert shown([volume], "name") == "volume/pvc-1\n"


def test_wide_cuts_nothing():
    """The wide form shows all, however wide it gets."""
    text = shown([row(findings=("f" * 90,), failure="NodeUnpublish failed, retry in 2m2s")], "wide", width=40)
    assert "f" * 90 in text
    assert "NodeUnpublish failed, retry in 2m2s" in text
    assert "volumes to be unmounted" in text


def test_slow_shows_parts_and_percentiles():
    """Each part with its duration, what the subject waits for now, then the percentiles of each part."""
    lasting = Phase("unmount", BEGINS + 60 * SECOND, None)
    stuck = row(phases=(Phase("kill", BEGINS, BEGINS + 1_390_000), lasting), now=lasting)
    text = shown([stuck], slow=True, width=120)
    assert "kill     22:13:20  1.4s" in text
    assert "unmount  22:14:20  -     waits 9m for volumes to be unmounted" in text
    assert text.splitlines()[-2:] == ["STEP  COUNT  P50   P90   P99   MAX", "kill  1      1.4s  1.4s  1.4s  1.4s"]


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_hostile_gets_through(output):
    """Names that move the cursor, and secrets in an error, are made harmless in every output."""
    text = shown([row("ns/\x1b[2Jpod", failure="failed, password=hunter22")], output)
    assert "\x1b" not in text
    assert "hunter22" not in text
    if output in {"wide", "json", "csv"}:
        assert "hunter22" in shown([row(failure="failed, password=hunter22")], output, redact=False)


def test_json_and_csv_say_the_same():
    """Each value of a JSON item stands in the column of its name."""
    rows = [row(findings=("a", "b"), phases=(Phase("kill", BEGINS, ENDS),), retries=3, stuck=True)]
    item = json.loads(shown(rows, "json", slow=True))["items"][0]
    line = next(csv.DictReader(io.StringIO(shown(rows, "csv", slow=True))))
    assert (item["name"], item["retries"], item["findings"]) == ("default/web-0", 3, ["a", "b"])
    assert item["illegal"] == ["A → B without C"]
    assert item["phases"][0]["seconds"] == 600
    assert (line["name"], line["retries"], line["findings"], line["kill"]) == (
        "default/web-0",
        "3",
        "a b",
        "600.000000",
    )
    assert line["since"] == item["since"] == "2023-11-14T22:14:20.000000Z"


def test_csv_holds_no_formulas():
    """A name that begins like a formula is text to a spreadsheet."""
    assert "'=cmd" in shown([row("=cmd|' /C calc'!A0")], "csv")


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_seen(output):
    """No rows are no error: heads, an empty list, or nothing."""
    text = shown([], output, slow=True)
    assert text.strip() or output == "name"
