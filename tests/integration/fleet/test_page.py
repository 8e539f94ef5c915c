"""The report of a fleet as an HTML page: it shows what the results hold, and obeys nothing in them."""

from __future__ import annotations

import io
from datetime import date
from html.parser import HTMLParser
from math import comb

import pytest

pytest.importorskip("duckdb")

from kvdiag.fleet.overview import Overview, fisher_p, suspicious_versions
from kvdiag.fleet.page import write_overview

BAD = "<script>alert(1)</script>\x1b[2J"
COUNTS = {"nodes": 3, "clusters": 1, "failed": 1, "partial": 0, "begins": None, "ends": None}
CAUSE = {
    "rule": "disk-full",
    "title": "The disk is full",
    "severity": "high",
    "nodes": 2,
    "is_confirmed": True,
    "first_cluster": BAD,
    "first_node": "worker-1",
    "begins": None,
    "ends": None,
    "kubelet_versions": ["1.31.2"],
    "driver_versions": [],
    "across_nodes": 0,
    "says": f"password=Tr0ub4dor{BAD}",
    "all_nodes": [BAD, "eu/worker-1"],
    "open_nodes": 1,
    "all_rows": 3,
    "suspicious_versions": [
        {
            "component": BAD,
            "version": BAD,
            "hit_with": 2,
            "nodes_with": 2,
            "hit_without": 0,
            "nodes_without": 9,
            "p": 0.001,
        }
    ],
    "first_step": {"text": BAD, "run": BAD},
    "days": [{"day": date(2026, 3, 11), "nodes": 1}, {"day": date(2026, 3, 12), "nodes": 2}],
    "newer_kvdiag": [BAD],
}
ERROR = {"component": "kubelet", "says": BAD, "nodes": 2, "lines": 7, "all_rows": 1}
FAILED = {
    "cluster": "eu",
    "node": BAD,
    "reason": "took more than 2 GB",
    "next_step": "raise --limit-memory",
    "all_rows": 1,
}


class Seen(HTMLParser):
    """The elements of a page, where its links lead to, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element."""
        self.tags.append(tag)
        said = {name: value or "" for name, value in attrs}
        self.ids.add(said.get("id", ""))
        self.links += [said["href"]] if tag == "a" else []

    def handle_data(self, data: str) -> None:
        """Note the words."""
        self.words += data


def page(said: Overview) -> tuple[str, Seen]:
    """Give the page as text, and what a browser would see."""
    stream = io.StringIO()
    write_overview(said, stream, "html")
    seen = Seen()
    seen.feed(stream.getvalue())
    return stream.getvalue(), seen


def test_causes_errors_and_failures_are_shown():
    """The worst is the verdict; each cause of the list leads to what is known of it."""
    _, seen = page(Overview(COUNTS, [CAUSE], [ERROR], [FAILED]))
    for words in ("2 nodes: The disk is full", "kubelet 1.31.2", "Errors that nothing explains", "took more than 2 GB"):
        assert words in seen.words
    assert seen.links == ["#disk-full"]
    assert "disk-full" in seen.ids


def test_nothing_runs_and_nothing_is_loaded():
    """Markup in names and words is text; the page's own policy admits its own style and script alone."""
    text, seen = page(Overview(COUNTS, [CAUSE], [ERROR], [FAILED]))
    assert not {"img", "iframe", "link", "object"} & set(seen.tags)
    assert seen.tags.count("script") == 1
    assert "<script>alert(1)</script>" in seen.words
    assert "\x1b" not in text
    assert "Tr0ub4dor" not in text
    assert "default-src 'none'; script-src 'sha256-" in text


def test_a_healthy_fleet():
    """Without a cause the page says so, and has no empty tables."""
    _, seen = page(Overview(COUNTS, [], [], []))
    assert "No known failure found." in seen.words
    assert "table" not in seen.tags


def test_versions_are_held_against_failures():
    """A version whose nodes are hit more often than by chance is named, the least likely first; others are not."""
    few = {"rule": "r", "component": "containerd", "version": "1.6.15"}
    rows = [
        few | {"hit_with": 5, "nodes_with": 15, "hit_without": 0, "nodes_without": 66},
        few | {"version": "1.7.0", "hit_with": 1, "nodes_with": 30, "hit_without": 4, "nodes_without": 51},
        few | {"component": "kubelet", "hit_with": 5, "nodes_with": 81, "hit_without": 0, "nodes_without": 0},
    ]
    (found,) = suspicious_versions(rows)["r"]
    assert (found["component"], found["version"]) == ("containerd", "1.6.15")
    assert round(found["p"], 7) == round(fisher_p(5, 15, 0, 66), 7)
    assert abs(fisher_p(5, 15, 0, 66) - comb(15, 5) / comb(81, 5)) < 1e-12
    assert fisher_p(0, 3, 2, 3) == 1


def test_what_is_cut_is_counted():
    """A list that does not show all of its rows says how many more there are."""
    stream = io.StringIO()
    node = {"cluster": "eu", "node": "n1", "lines": 3, "says": "odd", "all_rows": 51}
    write_overview(Overview(COUNTS, [CAUSE], [ERROR], [FAILED], [node]), stream, "text")
    text = stream.getvalue()
    assert "2 more causes: kvdiag fleet sql" in text
    assert "  eu/n1: 3×, odd\n  50 more nodes: kvdiag fleet sql\n" in text
