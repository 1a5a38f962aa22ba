"""How much to measure: everything, or just enough to see that it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Sizes and repetitions.

    Attributes
    ----------
    judged : bool
        Whether the bars apply. They are stated for the full sizes only.
    rows : int
        Rows of each sample where sums are timed.
    memory_rows : int
        Rows of each sample where their memory is measured.
    permutation_rows, permutations : int
        Rows of each sample, and relabellings, of the permutation test.
    reindexed : int
        So many relabellings are timed of the peer that takes them one by one.
    laplace_rows : int
        Rows of each sample where the Laplace kernel is timed.
    sketch_rows : int
        The most rows that are sketched.
    column_sizes : tuple of (int, int)
        Rows and columns of tables whose columns are held against their tolerances: long, and wide.
    command_sizes : tuple of (int, int, str)
        Rows, columns and format of the files that whole commands are run on.
    tables : int
        The most real tables that are looked at.
    batch_rows, batches : tuple of int, int
        Rows of good batches of these, and how many there are of each size and kind.
    fault_rows : tuple of int
        Rows of batches with a fault, one of each size and kind for every fault.
    rounds, slow_rounds : int
        Interleaved repetitions, of fast comparisons and of those that take many seconds each.
    only : tuple of str
        Run only the commands of these names, of those that have one; all of them if empty.
    """

    judged: bool
    rows: int
    memory_rows: int
    permutation_rows: int
    permutations: int
    reindexed: int
    laplace_rows: int
    sketch_rows: int
    column_sizes: tuple[tuple[int, int], ...]
    command_sizes: tuple[tuple[int, int, str], ...]
    tables: int
    batch_rows: tuple[int, ...]
    batches: int
    fault_rows: tuple[int, ...]
    rounds: int
    slow_rounds: int
    only: tuple[str, ...] = ()


FULL = Scale(
    judged=True,
    rows=10_000,
    memory_rows=50_000,
    permutation_rows=500,
    permutations=2000,
    reindexed=40,
    laplace_rows=3000,
    sketch_rows=1_000_000,
    column_sizes=((1_000_000, 20), (50_000, 500)),
    command_sizes=(
        (10_000, 20, "csv"),
        (100_000, 20, "csv"),
        (1_000_000, 10, "parquet"),
        (1_000_000, 10, "csv"),
        (20, 10_000, "csv"),
    ),
    tables=100,
    batch_rows=(300, 1000, 2500, 10_000, 20_000),
    batches=5,
    fault_rows=(1000, 2500),
    rounds=11,
    slow_rounds=5,
)

QUICK = Scale(
    judged=False,
    rows=600,
    memory_rows=2000,
    permutation_rows=50,
    permutations=100,
    reindexed=4,
    laplace_rows=200,
    sketch_rows=20_000,
    column_sizes=((2000, 5), (500, 20)),
    command_sizes=(
        (500, 5, "csv"),
        (600, 5, "csv"),
        (700, 5, "parquet"),
        (700, 5, "csv"),
        (20, 30, "csv"),
    ),
    tables=2,
    batch_rows=(300,),
    batches=2,
    fault_rows=(300,),
    rounds=3,
    slow_rounds=1,
)
