"""What a report says, as plain values: no plotting, no HTML.

The parts are in the order in which a reader meets them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nammd.data.arrays import FloatArray
from nammd.results import Mark, ScaleCheck, Tone


@dataclass(frozen=True)
class Answer:
    """The top of the page.

    Attributes
    ----------
    word : str
        CLOSE, FAR, UNDECIDED or NOT PROVEN; empty where nothing was tested.
    tone : {"close", "far", "undecided", "neutral"}
        Which colour it has.
    sentence : str
        The answer in one sentence.
    advice : str
        What to do next; may be empty.
    cautions : tuple of str
        What to know before relying on it.
    reasons : tuple of str
        What changed in the columns that matter most, in words; none without a test.
    facts : tuple of (str, bool)
        Facts that need no test, and whether each makes the check fail.
    files : tuple of FileRow
        Which data it is about.
    """

    word: str
    tone: Tone
    sentence: str
    advice: str
    cautions: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    facts: tuple[tuple[str, bool], ...] = ()
    files: tuple[FileRow, ...] = ()


@dataclass(frozen=True)
class FileRow:
    """Where a dataset came from.

    Attributes
    ----------
    role : str
        What it is called.
    path : str
        Its file, or that there is none.
    rows : int
        The rows that were compared.
    total : int or None
        The rows of the file, where that is known.
    digest : str
        The beginning of a digest of its points.
    """

    role: str
    path: str
    rows: int
    total: int | None
    digest: str


@dataclass(frozen=True)
class DistanceInterval:
    """An estimated distance and its 95 % confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Distance:
    """The distance against the tolerance.

    Attributes
    ----------
    name : str
        NAMMD or MMD².
    measured : DistanceInterval
        The distance of the whole datasets.
    standard_error : float
        Its standard error.
    epsilon : float or None
        The tolerance; None where nothing was tested.
    limit : str
        What epsilon is called: tolerance, or margin.
    epsilon_error : float
        Its standard error; zero where it is a given number.
    pvalues : tuple of (str, float)
        What each test is to show, and its p-value.
    alpha : float
        The level of each test.
    marks : tuple of Mark
        Where the tolerance was taken from several datasets: how far each of them is.
    level : float
        The confidence level of the interval.
    like : tuple of (str, float)
        What the candidate is like, where several datasets were accepted: how much of each.
    scales : tuple of ScaleCheck
        What was found at every scale, the main one first; nothing where there is one alone.
    """

    name: str
    measured: DistanceInterval
    standard_error: float
    epsilon: float | None
    limit: str
    epsilon_error: float
    pvalues: tuple[tuple[str, float], ...]
    alpha: float
    marks: tuple[Mark, ...] = ()
    level: float = 0.95
    like: tuple[tuple[str, float], ...] = ()
    scales: tuple[ScaleCheck, ...] = ()


@dataclass(frozen=True, eq=False)
class Histogram:
    """The values of a column of numbers or times in both datasets.

    Attributes
    ----------
    x, y : array
        The share of the present values of each dataset in every bin.
    edges : array
        The ends of the bins. The outermost bins also hold everything beyond them.
    low, high : str
        The outermost edges, for people.
    missing : tuple of float
        The share of the rows of each dataset that have no value.
    """

    x: FloatArray
    y: FloatArray
    edges: FloatArray = field(repr=False)
    low: str
    high: str
    missing: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Bars:
    """The categories of a column in both datasets.

    Attributes
    ----------
    labels : tuple of str
        The commonest categories; the others and missing values come last.
    x, y : tuple of float
        Their shares of the rows.
    """

    labels: tuple[str, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class ColumnPart:
    """What one column has to do with the distance.

    Attributes
    ----------
    name, kind : str
        The column, and what it holds.
    alone : DistanceInterval
        The distance of this column alone; zero where the column is constant.
    without : DistanceInterval or None
        The distance of all the other columns; None where there are none or it was not computed.
    tolerance : float or None
        How far it may be away; None where it has no measure of its own.
    aspect : str
        What of it the distance is about: its values, its labels, or which are missing.
    adjusted : float or None
        The p-value of "beyond its tolerance", adjusted by Holm's method for the number of columns.
    significant : bool
        Whether it is proven to be beyond its tolerance.
    words : str
        What changed, where that is so.
    profile : Histogram or Bars
        Its values in both datasets.
    values : tuple of (str, str, str)
        A label, and its value in each dataset: the median, and where the middle half lies.
    """

    name: str
    kind: str
    alone: DistanceInterval
    without: DistanceInterval | None
    tolerance: float | None
    aspect: str
    adjusted: float | None
    significant: bool
    words: str
    profile: Histogram | Bars
    values: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class ColumnRow:
    """A column in the table of all columns.

    Attributes
    ----------
    name, kind : str
        The column, and what it holds.
    distance, tolerance, ratio : float
        How far it is from the reference alone, how far it may be, and the one over the other.
    before, now : str
        The median, or the share of the label that changed most, or of missing values, in both datasets.
    beyond : bool
        Whether it is proven to be beyond its tolerance.
    """

    name: str
    kind: str
    distance: float
    tolerance: float
    ratio: float
    before: str
    now: str
    beyond: bool

    @property
    def filled(self) -> float:
        """How much of its bar is filled, in percent; the tolerance is at half of it."""
        return round(min(50.0 * self.ratio, 100.0), 1)


@dataclass(frozen=True)
class PairPart:
    """Two columns that go together differently.

    Attributes
    ----------
    names : tuple of str
        The columns; the first one goes up, the second one to the right.
    words : str
        What changed.
    before, now : tuple of (int, int, int)
        The cells of both tables that have rows: the class of either column, and the share of rows in it as a
        percentage of the largest share.
    classes : tuple of int
        How many classes either column has.
    """

    names: tuple[str, str]
    words: str
    before: tuple[tuple[int, int, int], ...]
    now: tuple[tuple[int, int, int], ...]
    classes: tuple[int, int]


@dataclass(frozen=True)
class Contributions:
    """All columns: those beyond their tolerance first, then by distance over tolerance.

    Attributes
    ----------
    columns : tuple of ColumnPart
        Those that are drawn.
    hidden : int
        How many more there are.
    tested : int
        How many columns the adjustment of the p-values counts.
    significant : tuple of str
        The columns that are proven to be beyond their tolerances.
    together : DistanceInterval
        The distance of all columns, on the rows used here.
    rows : tuple of int
        How many rows of each dataset were used for what leaves a column out, evenly spaced.
    alpha : float
        The level for all columns together.
    wide : bool
        Whether there were too many columns to leave each of them out; then `columns` are those with the
        largest standardized difference, and nothing is tested.
    table : tuple of ColumnRow
        All columns.
    own : bool
        Whether the tolerances are those of the result; else they are what is negligible by default.
    pairs : tuple of PairPart
        Pairs of columns that are proven to go together differently.
    sentence : str
        What it comes to.
    """

    columns: tuple[ColumnPart, ...]
    hidden: int
    tested: int
    significant: tuple[str, ...]
    together: DistanceInterval
    rows: tuple[int, int]
    alpha: float
    wide: bool
    table: tuple[ColumnRow, ...]
    own: bool
    pairs: tuple[PairPart, ...]
    sentence: str


@dataclass(frozen=True)
class ExampleRow:
    """A row of one dataset whose like the other dataset lacks.

    Attributes
    ----------
    position : int
        The number of the row in its dataset, counted from 0.
    witness : float
        How much more of its own dataset than of the other is around it.
    cells : tuple of str or None
        Its values, in the order of the columns of its `Examples`; None where missing.
    """

    position: int
    witness: float
    cells: tuple[str | None, ...]


@dataclass(frozen=True)
class Examples:
    """The rows of one dataset that the other lacks most.

    Attributes
    ----------
    dataset, other : str
        The names of the two datasets.
    columns : tuple of str
        The columns shown.
    hidden : int
        How many columns are not shown.
    rows : tuple of ExampleRow
        The largest witness value first.
    identifiers : tuple of (str, tuple of str)
        Columns that tell rows apart and were therefore left out, with their values in these rows.
    typical : tuple of str or None
        The median or commonest value of each column in the *other* dataset, to compare with.
    """

    dataset: str
    other: str
    columns: tuple[str, ...]
    hidden: int
    rows: tuple[ExampleRow, ...]
    typical: tuple[str | None, ...]
    identifiers: tuple[tuple[str, tuple[str | None, ...]], ...] = ()


@dataclass(frozen=True, eq=False)
class Witness:
    """The witness function at every row: above zero where the first dataset is denser."""

    x: FloatArray
    y: FloatArray


@dataclass(frozen=True, eq=False)
class Map:
    """Both samples in two dimensions: principal components of the pooled encoded rows.

    Attributes
    ----------
    x, y : array of shape (rows, 2)
        Coordinates of evenly spaced rows of each dataset.
    witness_x, witness_y : array of shape (rows,)
        The witness function there.
    shares : tuple of float
        How much of the variance each of the two components shows.
    """

    x: FloatArray
    y: FloatArray
    witness_x: FloatArray
    witness_y: FloatArray
    shares: tuple[float, float]


@dataclass(frozen=True)
class GroupRow:
    """A group of rows that belong together.

    Attributes
    ----------
    name : str
        Its label.
    rows : int
        How many rows it has.
    witness : float
        How much more of its own dataset than of the other surrounds its rows, on average.
    """

    name: str
    rows: int
    witness: float


@dataclass(frozen=True)
class Groups:
    """The groups of one dataset.

    Attributes
    ----------
    dataset, other : str
        What the dataset and the other one are called.
    by : str
        What the groups are.
    count : int
        How many there are.
    fewest, median, most : number
        The rows of a group.
    rows : tuple of GroupRow
        Those that stand out most.
    """

    dataset: str
    other: str
    by: str
    count: int
    fewest: int
    median: float
    most: int
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True, eq=False)
class ReportModel:
    """Everything a report says.

    Attributes
    ----------
    title : str
        The question.
    answer : Answer
        The answer.
    datasets : tuple of str
        What the two datasets are called.
    distance : Distance
        The distance against the tolerance.
    contributions : Contributions
        What each column has to do with it.
    examples : tuple of Examples
        The rows of each dataset that the other lacks most.
    witness : Witness
        The witness values of all rows.
    map : Map or None
        Both samples in two dimensions; None where the data have but one dimension.
    settings : tuple of (str, str)
        What was computed from what, with which version.
    left_out : tuple of (str, str)
        Columns that took no part, and why.
    reproduce : str
        The Python code that gives this result again.
    created : str
        When the report was made, in UTC.
    groups : tuple of Groups
        The groups of both datasets; empty where no rows belong together.
    """

    title: str
    answer: Answer
    datasets: tuple[str, str]
    distance: Distance
    contributions: Contributions
    examples: tuple[Examples, Examples]
    witness: Witness
    map: Map | None
    settings: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    reproduce: str
    created: str
    groups: tuple[Groups, ...] = ()
