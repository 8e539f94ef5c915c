"""A machine × events → transitions. The walker knows nothing of pods or volumes; the tables do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kvdiag.history.lifecycles.machine import Machine, Step
from kvdiag.model.event import Event
from kvdiag.model.lifecycle import Transition

_NOT_FINAL = ("Canceled", "Unavailable", "ResourceExhausted", "Aborted")
_OPEN = ("DeadlineExceeded", "deadline exceeded", "timed out", *(f"code = {code}" for code in _NOT_FINAL))
"""In an error: the call may have taken place, or still go on. The kubelet takes the same codes as not final."""
UNMOVED = Step()  # of a kind without a step


def replay(
    machine: Machine,
    events: Iterable[tuple[str, Event]],
    outages: Sequence[int] = (),
    reboots: Sequence[Event] = (),
) -> Iterator[Transition]:
    """Passages of events in order of time; the first of each pair is the event's kind, or `kind:detail`.

    After each of the `outages` (microseconds UTC, sorted) nothing reached before it is known any more; each of the
    `reboots` ended what ran.
    """
    walker = _Walker(machine, machine.begins)
    ahead = 0
    pending = list(reversed(reboots))
    for kind, event in events:
        while pending and pending[-1].time < event.time:
            yield from walker.reboot(pending.pop())
        if ahead < len(outages) and outages[ahead] <= event.time:
            walker.lose(everything=True)
            ahead = bisect_right(outages, event.time, lo=ahead)  # a program may start thousands of times between
        step = machine.steps.get(kind)
        if step is None and not machine.hides & {"*", event.kind}:
            step = UNMOVED
        if step is not None:
            yield walker.apply(step, event, machine.label(kind))
    while pending:
        yield from walker.reboot(pending.pop())


@dataclass(slots=True)
class _Walker:
    """Where a life is, what it has surely reached (state → number of the step), and who holds the subject."""

    machine: Machine
    state: str
    unsure: bool = False
    steps: int = 0
    reached: dict[str, int] = field(default_factory=dict)
    holders: set[str] = field(default_factory=set)

    def lose(self, states: Iterable[str] = (), *, everything: bool = False) -> None:
        """Forget that states were reached; the state is uncertain until a step proves it."""
        self.unsure = self.state != self.machine.begins
        for state in list(self.reached) if everything else states:
            self.reached.pop(state, None)
        if everything:
            self.holders.clear()

    def reboot(self, event: Event) -> Iterator[Transition]:
        """The transition to what a reboot of the host leaves, if that is another state."""
        before, after = self.state, self.machine.states[self.state].reboot
        if after:
            self.state = after
            yield Transition(event, self.machine.label(event.kind), before, after, certain=not self.unsure)

    def apply(self, step: Step, event: Event, label: str) -> Transition:
        """The transition of one event."""
        before = self.state
        holder = (event.ref("pod_uid") or event.ref("target_path")) if step.holds else ""  # a line may have 5,000 refs
        others = self.holders - {holder} if step.holds < 0 and holder else set()
        self.steps += 1
        self._forget(step, event)
        moves = bool(step.to) and not others
        broken = self._broken(step.to) if moves and before not in step.keeps else ""
        if step.holds > 0:
            self.holders.add(holder)
        elif step.holds < 0 and step.proves:
            self.holders = others
        if moves:
            self._reach(step)
        violation = f"{before} → {step.to} without {broken}" if broken else ""
        return Transition(
            event, _step_label(label, event, len(others)), before, self.state, not broken, not self.unsure, violation
        )

    def _forget(self, step: Step, event: Event) -> None:
        if step.forgets and "*" in step.forgets:
            self.reached.clear()
        elif step.forgets:
            for state in step.forgets:
                self.reached.pop(state, None)
        if step.forgets and not step.proves:
            self.unsure = True
        if step.may and any(word in event.attrs.get("error", "") for word in _OPEN):
            self.lose(step.may)
            self.unsure = True

    def _reach(self, step: Step) -> None:
        begins = self.machine.has(step.to, "passing")
        if self.state not in step.keeps:
            self.state = step.to
            self.unsure = (self.unsure or not begins) and not step.proves
        elif step.proves and self.state == step.to:
            self.unsure = False
        if step.proves or begins:
            self.reached[step.to] = self.steps
        if step.marks:
            self.reached[step.marks] = self.steps

    def _broken(self, to: str) -> str:
        """The state that must have been passed through on the way to `to` and was not; told once."""
        for must in self.machine.orders:
            after = self.reached.get(must.after)
            if must.to == to and after is not None and self.reached.get(must.through, 0) < after:
                self.reached[must.through] = self.steps
                return must.through
        return ""


def _step_label(label: str, event: Event, others: int) -> str:
    backoff = event.attrs.get("backoff", "")
    text = f"{label}, retry in {backoff}" if backoff else label
    text = f"{text}, {others} more to go" if others else text
    return f"{text} ×{event.count}" if event.count > 1 else text
