"""A terminal of a width, drawn by rich: wrapped text, lines that are never broken, colours and links.

rich is asked for nothing else: no markup, no emoji and no highlighting, since the words are those of a log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TextIO

from rich.console import Console
from rich.style import Style
from rich.text import Text

from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions

if TYPE_CHECKING:
    from rich.console import RenderableType

NARROWEST = 20  # columns of text: with fewer a long name would be cut into pieces
STYLES: Mapping[str, str] = {
    "": "",
    "bold": "bold",
    "dim": "dim",
    "place": "magenta",
    "command": "green",
    "bad": "bold red",
    "over": "green",
    "ongoing": "red",
}
"""The terminal's own colours, which are legible on a light ground and on a dark one."""
BADGES: Mapping[Severity, str] = {
    Severity.CRITICAL: "bold white on magenta",
    Severity.HIGH: "bold white on red",
    Severity.MEDIUM: "black on yellow",
    Severity.LOW: "black on cyan",
    Severity.INFO: "white on blue",
}


class Piece(NamedTuple):
    """Text on one line: its style, one of `STYLES` or of rich, and where it leads."""

    text: str
    style: str = ""
    link: str = ""


class Screen:
    """Writes lines to a stream as the options say."""

    def __init__(self, stream: TextIO, options: RenderOptions) -> None:
        """Nothing is written before the first line."""
        self.options, self.width = options, options.width
        self._console = Console(
            file=stream,
            width=options.width,
            force_terminal=options.colour,
            color_system="standard" if options.colour else None,
            no_color=not options.colour,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=True,
        )

    def line(self, *pieces: Piece) -> None:
        """One line, whatever its length."""
        text = Text()
        for piece in pieces:
            text.append(piece.text, self._style(piece))
        text.rstrip()
        self._console.print(text)

    def blank(self) -> None:
        """An empty line."""
        self._console.print()

    def text(self, text: str, *, indent: int = 0, hang: int = 0, style: str = "", most: int = 0) -> None:
        """Text wrapped to the width; lines after the first begin `hang` columns further in.

        Of more than `most` lines the rest is left out, where that is not 0.
        """
        lines = self.wrapped(text, indent + hang)
        if most and len(lines) > most:
            rest = " ".join(lines[most - 1 :])
            lines = [*lines[: most - 1], cut(rest, max(NARROWEST, self.width - indent - hang))]
        for number, line in enumerate(lines):
            self.line(Piece(" " * (indent + (hang if number else 0))), Piece(line, style))

    def wrapped(self, text: str, indent: int = 0) -> list[str]:
        """The lines that a text takes behind an indent; a word is broken only where it is longer than a line."""
        width = max(NARROWEST, self.width - indent)
        return [line.plain.rstrip() for line in Text(text).wrap(self._console, width)] if text else []

    def draw(self, renderable: RenderableType) -> None:
        """Something of rich, such as a table, without the blanks with which it fills its last column."""
        with self._console.capture() as capture:
            self._console.print(renderable, soft_wrap=False)
        self._console.file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())

    def _style(self, piece: Piece) -> Style:
        style = Style.parse(STYLES.get(piece.style, piece.style))
        return style + Style(link=piece.link) if piece.link and self.options.links else style


SHORT_WORD = 20  # a shorter one is not cut
LONG_WORD = 40  # of a longer one the beginning stays


def cut_middle(text: str, width: int) -> str:
    """The text with a mark where its middle was cut: an error begins with what failed and ends with why.

    Of a path that is cut the last names stay.
    """
    if len(text) <= width:
        return text
    tail = (width - 3) // 2
    head, end = text[: width - 3 - tail], text[len(text) - tail :]
    whole = head.rpartition(" ")[0]
    head = whole if whole and len(head) - len(whole) < LONG_WORD else head
    word, blank, rest = end.partition(" ")
    path = word[word.index("/") :] if "/" in word else "" if rest else f" {word}"
    return f"{head}{' ' if head == whole else ''}…{path}{blank}{rest}"


def cut(text: str, width: int) -> str:
    """The text on one line, with a mark where it was cut."""
    if len(text) <= width:
        return text
    head = text[: width - 2].rstrip()
    whole = head.rpartition(" ")[0]
    return f"{whole if len(head) - len(whole) < SHORT_WORD else head} …"
