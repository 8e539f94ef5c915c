"""The inventory as text that may be shown: secrets are redacted, control characters escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvdiag.base.clock import DAY, format_duration, to_datetime
from kvdiag.history.views.phases import awaits
from kvdiag.model.lifecycle import Phase
from kvdiag.model.values import SubjectKind
from kvdiag.model.views import Inventory, InventoryRow
from kvdiag.report.inventory_values import HEADS, plain_row
from kvdiag.report.phrases import explain_command
from kvdiag.safe.clean import SafeText, clean

Cells = Mapping[str, SafeText]
_FORMULAS = frozenset("=+-@＝＋－＠")  # with their full-width forms


class InventoryText:
    """Pods or volumes, as the outputs for people get them: cells by the heads of their columns."""

    def __init__(self, inventory: Inventory, *, redact: bool) -> None:
        """`redact` is off only where the user asked for it."""
        self._inventory, self._redact = inventory, redact
        self.is_slow = inventory.slow

    @property
    def names(self) -> Iterator[SafeText]:
        """Yield `pod/default/web-0`."""
        return (self._clean(f"{self._inventory.kind}/{row.name}") for row in self._inventory.rows)

    @property
    def id_head(self) -> str:
        """Return the head of the column that distinguishes rows with one name."""
        return "UID" if self._inventory.kind is SubjectKind.POD else "HANDLE"

    @property
    def heads(self) -> list[str]:
        """Return the columns of a table: only those that say something about these rows."""
        rows = self._inventory.rows
        heads = ["NAME", "STATE", "SINCE", "STUCK", "RETRIES", "FINDINGS"]
        if self._inventory.kind is SubjectKind.VOLUME:
            heads.insert(1, "DRIVER")
        if len({row.node for row in rows}) > 1:
            heads.insert(1, "NODE")
        if len({(row.name, row.node) for row in rows}) < len(rows):
            heads.insert(1, self.id_head)
        return [*heads, "BECAUSE OF"] if any(row.causes for row in rows) else heads

    @property
    def wide_heads(self) -> list[str]:
        """Return all columns."""
        driver = ["DRIVER"] if self._inventory.kind is SubjectKind.VOLUME else []
        heads = ["NAME", self.id_head, "NODE", *driver, "MACHINE", "STATE", "SINCE", "STUCK", "WAITS FOR", "RETRIES"]
        return [*heads, "LAST FAILURE", "FINDINGS", "BECAUSE OF"]

    @property
    def rows(self) -> Sequence[Cells]:
        """Return the rows of the table."""
        return [self._safe(self._cells(row)) for row in self._inventory.rows]

    @property
    def findings(self) -> Sequence[Sequence[SafeText]]:
        """Return for each row its findings and their causes, for lines of their own."""
        return [
            [self._clean(text) for text in (*row.findings, *(f"because of {cause}" for cause in row.causes))]
            for row in self._inventory.rows
        ]

    @property
    def commands(self) -> Sequence[str]:
        """Return the commands that explain the causes of the findings."""
        causes = dict.fromkeys(cause for row in self._inventory.rows for cause in row.causes)
        return [explain_command(cause) for cause in causes]

    @property
    def steps(self) -> Sequence[Cells]:
        """Return the duration of each step of each subject."""
        return [self._safe(self._step(row, phase)) for row in self._inventory.rows for phase in _parts(row)]

    @property
    def figures(self) -> Sequence[Cells]:
        """Return the percentiles of each step."""
        return [
            self._safe(
                {"STEP": s.name, "COUNT": str(s.times)}
                | {head: _took(value) for head, value in zip(("P50", "P90", "P99", "MAX"), s[2:], strict=True)}
            )
            for s in self._inventory.spreads
        ]

    @property
    def csv_rows(self) -> Iterator[Sequence[str]]:
        """Yield the values of the JSON rows, lists joined by spaces; if it is slow, with the seconds of each step."""
        steps = [spread.name for spread in self._inventory.spreads] if self.is_slow else []
        heads = [head for head in HEADS if head not in {"phases", "now", "ids"}]
        yield [*heads, *steps]
        for row in self._inventory.rows:
            values = plain_row(row)
            took = {phase.name: phase.ends - phase.begins for phase in row.phases if phase.ends is not None}
            seconds = [f"{took[step] / 1_000_000:.6f}" if step in took else "" for step in steps]
            yield [*(self._csv_cell(values[head]) for head in heads), *seconds]

    def _csv_cell(self, value: Any) -> str:  # noqa: ANN401  # JSON's own types
        """Return one cell. A value that a spreadsheet would run as a formula is prefixed with an apostrophe."""
        text = self._clean(" ".join(value) if isinstance(value, list) else "" if value is None else str(value))
        return f"'{text}" if text.lstrip()[:1] in _FORMULAS else text

    def _step(self, row: InventoryRow, phase: Phase) -> Mapping[str, str]:
        is_now = phase is row.now
        waits = f"waits {_took(self._inventory.ends - phase.begins)} for {awaits(row.life, phase)}" if is_now else ""
        return {
            "NAME": row.name,
            "STEP": phase.name,
            "BEGAN": self._when(phase.begins),
            "TOOK": _took(phase.ends - phase.begins) if phase.ends is not None else "-",
            "NOW": waits,
        }

    def _cells(self, row: InventoryRow) -> Mapping[str, str]:
        ids = row.life.subject.ids
        return {
            "NAME": row.name,
            "UID": ids.get("pod_uid", "-"),
            "HANDLE": ids.get("volume_handle", "-"),
            "NODE": row.node or "-",
            "DRIVER": row.driver or "-",
            "MACHINE": row.life.machine,
            "STATE": row.life.state + ("" if row.certain else "?"),
            "SINCE": self._when(row.life.since),
            "STUCK": format_duration(max(0, self._inventory.ends - row.life.since)) if row.stuck else "-",
            "WAITS FOR": row.life.waits_for or "-",
            "RETRIES": str(row.retries),
            "LAST FAILURE": row.failure or "-",
            "FINDINGS": ",".join(row.findings) or "-",
            "BECAUSE OF": ",".join(row.causes) or "-",
        }

    def _when(self, stamp: int) -> str:
        """Return the time of day; with the date if the logs cover more than a day."""
        shape = "%H:%M:%S" if self._inventory.ends - self._inventory.begins < DAY else "%m-%d %H:%M:%S"
        return to_datetime(stamp).strftime(shape)

    def _safe(self, cells: Mapping[str, str]) -> Cells:
        return {head: self._clean(text) for head, text in cells.items()}

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)


def _parts(row: InventoryRow) -> tuple[Phase, ...]:
    """Return the phases of a subject, and its current state if that is not one of them."""
    return row.phases if row.now is None or row.now in row.phases else (*row.phases, row.now)


def _took(microseconds: int) -> str:
    return f"{microseconds / 1000:.1f}ms" if microseconds < 10_000 else _tenths(microseconds)


def _tenths(microseconds: int) -> str:
    return (
        f"{microseconds / 1_000_000:.1f}s" if 1_000_000 <= microseconds < 60_000_000 else format_duration(microseconds)
    )
