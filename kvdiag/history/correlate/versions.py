"""Versions in the logs: printed at start, in files, or inferred from wordings of only some versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

from kvdiag.base.versions import intersection, read_range, write_range
from kvdiag.events.snapshots.fact import DRIVER_SUFFIX, VERSION
from kvdiag.formats.authors import DRIVER
from kvdiag.model.event import Event
from kvdiag.model.timeline import SeenVersion

BANNERS = ("kubelet.started", "runtime.started")  # of the component that prints them


def printed(events: Sequence[Event]) -> Iterator[SeenVersion]:
    """Yield each version that a component of a node printed, with its time; drivers have their own name.

    A version in a file is used if the component did not print one.
    """
    found: dict[tuple[str, str], list[SeenVersion]] = {}
    from_files: dict[tuple[str, str], SeenVersion] = {}
    drivers: dict[str, str] = {}
    known = {driver for event in events if (driver := event.ref("driver"))}
    for event in events:
        source = event.origin.source
        if source not in drivers and (driver := event.ref("driver")):
            drivers[source] = driver
        version = event.attrs.get("version", "").removeprefix("v")
        if not version:
            continue
        component = _component(event, drivers)
        if event.kind == VERSION:
            component = _driver_named(component, known)
            from_files[(component, event.node)] = SeenVersion(component, version, "file", event.node, event.origin)
        elif component:
            seen = found.setdefault((component, event.node), [])
            if not seen or seen[-1].version != version:
                seen.append(SeenVersion(component, version, "banner", event.node, event.origin, time=event.time))
    for seen in found.values():
        yield from seen
    yield from (seen for key, seen in from_files.items() if key not in found)


def _component(event: Event, drivers: Mapping[str, str]) -> str:
    match event.kind:
        case "version.found":
            return event.attrs.get("component", "")
        case "kubelet.runtime":
            return event.attrs.get("runtime", "containerd")
        case "csi.getplugininfo.succeeded":
            return event.ref("driver")
        case "csi.driver.banner":
            return drivers.get(event.origin.source, "") if event.component == DRIVER else event.component
        case kind:
            return event.component if kind in BANNERS else ""


def _driver_named(component: str, known: AbstractSet[str]) -> str:
    """Return the driver for a text such as `Hostpath CSI driver`; the text itself if none or several match."""
    called = component.removesuffix(DRIVER_SUFFIX).lower()
    fit = [driver for driver in known if called in driver.split(".")] if component.endswith(DRIVER_SUFFIX) else []
    return fit[0] if len(fit) == 1 else component


def inferred(spans: Mapping[str, Iterable[str]]) -> Iterator[SeenVersion]:
    """Yield for each component the intersection of the ranges of its wordings, if it is not empty."""
    for component, ranges in sorted(spans.items()):
        common = reduce(intersection, (read_range(text) for text in sorted(set(ranges))))
        if common:
            yield SeenVersion(component, "", "wording", span=write_range(common))
