"""Pieces of CSI calls joined into calls.

    I1120 21:00:07.288947   16866 server.go:114] GRPC response: {}

A response contains neither method nor volume, and calls interleave, so pairing uses evidence in this order: an id if
there is one, the method, the kind of response, the required fields of a request, and the order of lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from kvdiag.formats.rpc.fragments import CALL, CALLED, ERROR, RESPONSE, WHOLE, WITHOUT_ARGUMENTS, RpcFragment
from kvdiag.formats.rpc.lines import read_fragment

__all__ = ["Call", "RpcFragment", "fits", "likely_method", "read_fragment"]

K = TypeVar("K")

SUCCEEDED, FAILED, OPEN = "succeeded", "failed", "open"
_MOST_OPEN = 512
# A closed call waits for this many fragments: an error after the response, or a whole call, may correct it.
_PATIENCE = 16
_SIDE_BY_SIDE = 8
_TARGET, _STAGING, _NODE, _VOLUME = "target_path", "staging_target_path", "node_id", "volume_id"
_SOURCE = "source_volume_id"  # the volume of a snapshot
# The fields a request must have, and those it cannot have.
_SHAPES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "NodePublishVolume": ((_TARGET, _VOLUME), ()),
    "NodeUnpublishVolume": ((_TARGET,), (_STAGING,)),
    "NodeStageVolume": ((_STAGING,), (_TARGET,)),
    "NodeUnstageVolume": ((_STAGING,), (_TARGET,)),
    "ControllerPublishVolume": ((_VOLUME,), (_TARGET, _STAGING)),
    "ControllerUnpublishVolume": ((_VOLUME,), (_TARGET, _STAGING)),
    "DeleteVolume": ((_VOLUME,), (_TARGET, _STAGING, _NODE)),
    "CreateVolume": (("name",), (_SOURCE,)),
    "CreateSnapshot": (("name", _SOURCE), ()),
}


class Call(NamedTuple, Generic[K]):
    """One RPC: `begins`, `requested` and `ends` are the keys of its lines, None if there is no such line.

    `outcome` is succeeded, failed or open. `ambiguous` if the lines may belong to another call.
    """

    method: str
    request: Mapping[str, str]
    error: str
    outcome: str
    begins: K
    requested: K | None
    ends: K | None
    ambiguous: bool


@dataclass(slots=True, kw_only=True, eq=False)
class _Draft(Generic[K]):
    begins: K
    method: str = ""
    request: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    outcome: str = OPEN
    requested: K | None = None
    ends: K | None = None
    ambiguous: bool = False
    call_ids: tuple[str, ...] = ()
    closed_at: int = -1
    settled: bool = False
    begun_at: int = 0
    stale: bool = False

    def finished(self) -> Call[K]:
        """Return the call as a value."""
        return Call(
            self.method,
            self.request,
            self.error,
            self.outcome,
            self.begins,
            self.requested,
            self.ends,
            self.ambiguous,
        )


class CallAssembler(Generic[K]):
    """Assembles calls from fragments; has the open calls and those that have just ended."""

    def __init__(self) -> None:
        self._open: list[_Draft[K]] = []
        self._closed: list[_Draft[K]] = []
        self._now = 0
        self._last_part = ""
        # csi-lib-utils prints an error line after every response; drivers print one or the other.
        self._error_follows_response: bool | None = None

    def add(self, key: K, piece: RpcFragment) -> None:
        """Add one fragment."""
        self._now += 1
        match piece.part:
            case "call" | "called":
                self._begin(key, piece)
            case "request":
                self._request(key, piece)
            case "response":
                self._respond(key, piece)
            case "error":
                self._fail(key, piece)
            case "whole":
                self._whole(key, piece)
        if self._last_part == RESPONSE and piece.part not in (ERROR, WHOLE):
            self._error_follows_response = False
        self._last_part = piece.part

    def pop_finished(self) -> Iterator[Call[K]]:
        """Yield the calls that no later fragment can correct."""
        while self._closed and (self._closed[0].settled or self._now - self._closed[0].closed_at >= _PATIENCE):
            yield self._closed.pop(0).finished()
        while len(self._open) > _MOST_OPEN:
            yield self._open.pop(0).finished()

    def flush(self) -> Iterator[Call[K]]:
        """Yield the remaining calls at the end of the log."""
        for draft in (*self._closed, *self._open):
            yield draft.finished()

    def _begin(self, key: K, piece: RpcFragment) -> None:
        draft = _Draft(begins=key, method=piece.method, request=piece.request, begun_at=self._now)
        if piece.call_id:
            draft.call_ids = (piece.call_id,)
        if piece.part == CALLED:
            draft.requested = key
            echo = next((other for other in self._open if _is_echo(other, draft)), None)
            if echo is not None:
                echo.call_ids += draft.call_ids
                return
        self._open.append(draft)
        if draft.requested is not None:
            self._drop_twins(draft)

    def _request(self, key: K, piece: RpcFragment) -> None:
        waiting = _same_id([draft for draft in self._open if draft.requested is None], piece.call_id)
        fitting = [draft for draft in waiting if fits(draft.method, piece.request)] or waiting
        if not fitting:
            draft = _Draft(begins=key, method=piece.method or likely_method(piece.request), begun_at=self._now)
            draft.call_ids = (piece.call_id,) if piece.call_id else ()
            self._open.append(draft)
        elif self._last_part == CALL and fitting[-1] is self._open[-1]:
            draft = fitting[-1]
        else:
            draft = fitting[0]
            draft.ambiguous |= len(fitting) > 1
        draft.request, draft.requested = piece.request, key
        self._drop_twins(draft)

    def _respond(self, key: K, piece: RpcFragment) -> None:
        fitting = _same_id(self._open, piece.call_id)
        fitting = [draft for draft in fitting if not piece.answers or draft.method in piece.answers] or fitting
        fitting = _same_volume(fitting, piece)
        if fitting:
            draft = next((draft for draft in fitting if not draft.stale), fitting[0])
            is_named = bool(piece.call_id or piece.request)
            draft.request = {**draft.request, **piece.request}
            self._close(draft, key, SUCCEEDED, "", ambiguous=len(fitting) > 1 or (draft.stale and not is_named))

    def _fail(self, key: K, piece: RpcFragment) -> None:
        outcome = SUCCEEDED if piece.succeeded else FAILED
        if self._last_part == RESPONSE and self._closed and self._error_follows_response is not False:
            last = self._closed[-1]
            if piece.succeeded or self._error_follows_response or last.ambiguous or not self._open:
                self._error_follows_response = True
                last.outcome, last.error, last.ends = outcome, piece.error, key
                return
        fitting = [draft for draft in _same_id(self._open, piece.call_id) if piece.method in ("", draft.method)]
        fitting = _same_volume(fitting, piece)
        named = [draft for draft in fitting if _names(piece.error, draft)] or fitting
        if named:
            self._close(named[0], key, outcome, piece.error, ambiguous=len(named) > 1)
        elif not piece.succeeded:
            draft = _Draft(begins=key, method=piece.method)
            self._open.append(draft)
            self._close(draft, key, FAILED, piece.error, ambiguous=not piece.method)

    def _whole(self, key: K, piece: RpcFragment) -> None:
        """Use a line with the whole call, and correct an earlier guess."""
        same = [draft for draft in (*self._closed, *self._open) if not draft.settled and _is_call(draft, piece)]
        # First a call with a response, then an open one, then one that was given up.
        draft = min(same, key=lambda one: (one.ends is None, one.closed_at >= 0), default=None)
        if draft is None:
            draft = _Draft(begins=key, requested=key, begun_at=self._now)
            self._open.append(draft)
        elif draft.closed_at < 0:
            self._reopen_last()
        if draft.closed_at < 0:
            self._close(draft, key, OPEN, "", ambiguous=False)
        draft.method, draft.request = piece.method, {**draft.request, **piece.request}
        draft.outcome, draft.error = (SUCCEEDED if piece.succeeded else FAILED), piece.error
        draft.ends, draft.ambiguous, draft.settled = key, False, True
        self._pass(draft)

    def _reopen_last(self) -> None:
        """Reopen the call that got the last response by mistake."""
        last = self._closed[-1] if self._closed else None
        if last and not last.settled and self._last_part in (RESPONSE, ERROR) and last.closed_at == self._now - 1:
            self._closed.pop()
            last.outcome, last.error, last.ends, last.ambiguous, last.closed_at = OPEN, "", None, False, -1
            self._open.insert(0, last)

    def _close(self, draft: _Draft[K], key: K, outcome: str, error: str, *, ambiguous: bool) -> None:
        self._open.remove(draft)
        draft.outcome, draft.error, draft.ends, draft.closed_at = outcome, error, key, self._now
        draft.ambiguous |= ambiguous
        self._closed.append(draft)
        self._pass(draft)

    def _pass(self, draft: _Draft[K]) -> None:
        """Mark open calls that must have ended before this one began: their response is missing."""
        for other in self._open:
            other.stale |= other.begun_at < draft.begun_at and _precedes(other, draft)

    def _drop_twins(self, draft: _Draft[K]) -> None:
        """Close open calls that are identical to this one: a client waits for the response before it repeats a call.

        Calls without arguments may run in parallel; of those eight stay open.
        """
        twins = [other for other in self._open if other is not draft and _is_twin(other, draft)]
        for other in twins[:-_SIDE_BY_SIDE] if not draft.request else twins:
            self._open.remove(other)
            other.closed_at = self._now
            self._closed.append(other)


def fits(method: str, request: Mapping[str, str]) -> bool:
    """Return whether a request with these fields can belong to the method, according to the CSI specification."""
    required, forbidden = _SHAPES.get(method, ((), ()))
    if method in WITHOUT_ARGUMENTS:
        return not request
    return all(name in request for name in required) and not any(name in request for name in forbidden)


def likely_method(request: Mapping[str, str]) -> str:
    """Return the method of a request whose `GRPC call` line is missing; empty if the fields are ambiguous."""
    if _TARGET in request:
        published = _STAGING in request or "ephemeral" in request or "pod_uid" in request
        return "NodePublishVolume" if published else "NodeUnpublishVolume"
    if "name" in request:
        return "CreateSnapshot" if _SOURCE in request else "CreateVolume"
    # Stage or Unstage, Publish or Unpublish: the fields that distinguish them are not kept.
    return ""


def _same_id(drafts: list[_Draft[K]], call_id: str) -> list[_Draft[K]]:
    return [draft for draft in drafts if call_id in draft.call_ids] if call_id else drafts


def _same_volume(drafts: list[_Draft[K]], piece: RpcFragment) -> list[_Draft[K]]:
    """Return the calls of the volume in a response; all if it has none."""
    volume = piece.request.get(_VOLUME)
    return [draft for draft in drafts if draft.request.get(_VOLUME) == volume] or drafts if volume else drafts


def _is_echo(other: _Draft[K], draft: _Draft[K]) -> bool:
    """Return whether two layers of one driver log the same call, as vSphere's do: by number and by trace id."""
    same = other.method == draft.method and other.request == draft.request
    return same and {one.isdigit() for one in other.call_ids + draft.call_ids} == {True, False}


def _is_twin(other: _Draft[K], draft: _Draft[K]) -> bool:
    same = other.method == draft.method and other.request == draft.request
    return same and other.requested is not None and not draft.call_ids


def _names(error: str, draft: _Draft[K]) -> bool:
    """Return whether an error contains the call's volume, paths or method."""
    candidates = [draft.method, *(draft.request.get(name, "") for name in (_VOLUME, _TARGET, _STAGING))]
    return any(name and name in error for name in candidates)


def _precedes(other: _Draft[K], draft: _Draft[K]) -> bool:
    """Return whether a call had ended when another one began: kubelet calls one by one for a volume.

    A volume may be published for two pods at the same time; staging waits for all of them.
    """
    mine, its = draft.request, other.request
    if not mine.get(_VOLUME) or mine.get(_VOLUME) != its.get(_VOLUME) or draft.method == other.method:
        return False
    targets = mine.get(_TARGET, ""), its.get(_TARGET, "")
    return targets[0] == targets[1] or not all(targets)


def _is_call(draft: _Draft[K], piece: RpcFragment) -> bool:
    if draft.method != piece.method:
        return False
    shared = draft.request.keys() & piece.request.keys()
    return all(draft.request[name] == piece.request[name] for name in shared)
