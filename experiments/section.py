"""What an experiment contributes to a page: text, tables, figures, and what bears on a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from experiments.rule import Claim, Compared

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Attributes
    ----------
    name : str
        The name of its file, without the ending.
    caption : str
        What it shows, in one sentence.
    draw : callable
        ``draw(figure)``: draw on an empty matplotlib figure.
    size : tuple of float
        Width and height in inches.
    folder : str
        The folder of its file below that of the documentation: ``"tables"`` where other pages show it too.
    """

    name: str
    caption: str
    draw: Callable[[Figure], None]
    size: tuple[float, float] = (7.0, 3.2)
    folder: str = "figures"

    @property
    def path(self) -> str:
        """Its file, below the folder of the documentation."""
        return f"{self.folder}/{self.name}.svg"


Rank: TypeAlias = Literal["fundamental", "tables", "typos"]


@dataclass(frozen=True)
class Correction:
    """Where the paper's text is off, and how much that matters."""

    text: str
    rank: Rank = "tables"


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes
    ----------
    body : str
        Markdown: what was done, and the table with the paper's numbers beside ours.
    sentence : str
        What came out, in a sentence or two with numbers, made from the results.
    claim : Claim, optional
        What the paper says in words, with the comparisons that bear on it; `experiments.rule` decides.
    pictures : sequence of Picture
        The figures.
    corrections : sequence of str or Correction
        Where the paper's text is off, a sentence each with the numbers that show it; a text alone ranks
        with the tables.
    notes : sequence of str
        What else to know: data that stand in for others, where our method is weaker.
    tables : mapping of str to str
        Tables in Markdown that pages of the guide include, by the names of their files in ``docs/tables``.
    compared : sequence of Compared
        Printed numbers of the same protocol on the same data, to be judged by one rule.
    short : str
        What the first lines of the page say of it, if anything.
    """

    body: str
    sentence: str
    claim: Claim | None = None
    pictures: Sequence[Picture] = ()
    corrections: Sequence[str | Correction] = ()
    notes: Sequence[str] = ()
    tables: Mapping[str, str] = field(default_factory=dict)
    compared: Sequence[Compared] = ()
    short: str = ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
