"""Whether datasets have the same columns, and whether a column holds the same in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nammd.data.dataset import Dataset
from nammd.data.values import Values
from nammd.encoding.columns import Column
from nammd.encoding.resemblance import resemblances, resembling, values_of
from nammd.errors.advice import Advice, refusal
from nammd.errors.checks import counted
from nammd.errors.naming import but_for_case, listed, quoted, suggestion


def named_columns(datasets: Sequence[Dataset]) -> tuple[str, ...]:
    """Return the names of the columns of all datasets; those of arrays are their numbers.

    Where the orders differ it is that of the alphabet, so that no dataset decides it.
    """
    first = datasets[0]
    if not first.is_table:
        return tuple(map(str, range(first.width)))
    if all(dataset.names == first.names or dataset.one_column for dataset in datasets):
        return first.names
    return tuple(sorted({name for dataset in datasets for name in dataset.names}))


def require_same_kinds(datasets: Sequence[Dataset]) -> None:
    """Refuse tables beside arrays: columns with names and scales of their own, beside numbers as they are."""
    for dataset in datasets[1:]:
        if dataset.is_table != datasets[0].is_table:
            one, other = (datasets[0], dataset) if datasets[0].is_table else (dataset, datasets[0])
            raise TypeError(
                f"{one.name} is a table and {other.name} is an array; give both as tables, whose columns are "
                "matched by name and scaled, or both as arrays, which are taken as they are"
            )


def require_same_columns(datasets: Sequence[Dataset], dropped: Sequence[str]) -> None:
    """Refuse datasets that do not all have the same columns, those aside that are left out in any case."""
    first = datasets[0]
    for other in datasets[1:]:
        if all(dataset.one_column for dataset in (first, other)):
            continue  # columns by themselves are compared whatever they are called
        if first.is_table:
            _require_same_names(first, other, set(dropped))
        elif first.width != other.width:
            raise ValueError(
                f"{first.name} has {counted(first.width, 'column')} but {other.name} has {other.width}; "
                "both datasets must have the same columns"
            )


def _require_same_names(first: Dataset, other: Dataset, dropped: set[str]) -> None:
    mine, theirs = ([n for n in dataset.names if n not in dropped] for dataset in (first, other))
    known, given = set(mine), set(theirs)
    lacking = [name for name in mine if name not in given]
    if lacking:
        others = [name for name in theirs if name not in known]
        alike = resembling(values_of(first, lacking), other, others)
        raise ValueError(
            f"{other.name} lacks columns that {first.name} has: {listed(lacking)}"
            + (but_for_case(lacking, others) or resemblances(alike))
        )
    extra = [name for name in theirs if name not in known]
    if extra:
        raise refusal(
            ValueError,
            f"{other.name} has columns that {first.name} lacks: {listed(extra)}",
            Advice(
                f"leave them out with Space.fit(x, y, exclude=[{listed(extra)}])",
                f"leave them out with --exclude {','.join(extra[:5])}",
            ),
        )


def require_known(wanted: Iterable[Column], dataset: Dataset, left_out: Iterable[str]) -> None:
    """Refuse a table that lacks columns of the reference; what it `left_out` is known too."""
    known, names, owner = {column.name: column for column in wanted}, dataset.names, dataset.name
    present = set(names)
    missing = {name: column for name, column in known.items() if name not in present}
    if not missing:
        return
    unknown = [name for name in names if name not in {*known, *left_out}]
    alike = resemblances(resembling(missing, dataset, unknown))
    if len(missing) == 1:
        [name] = missing
        words = suggestion(name, names) if but_for_case([name], names) or not alike else alike[2:]
        raise ValueError(
            f"{owner} has no column {quoted(name)}, which the reference of this space has; {words}"
        )
    raise ValueError(
        f"{owner} lacks columns that the reference of this space has: {listed(missing)}"
        + (but_for_case(missing, names) or alike)
    )


def require_kind(
    values: Values, expected: Column | Values, owner: str, name: str = "", other: str = "the reference"
) -> None:
    """Refuse a column that holds something else than it should."""
    wanted = expected if isinstance(expected, Values) else expected.expected
    if values.meets(wanted) or (values.trouble and values.trouble == wanted.trouble):
        return
    column = name if isinstance(expected, Values) else expected.name
    raise ValueError(
        f"the column {column!r} of {owner} holds {_words(values, wanted)}, but {_words(wanted, values)} in "
        f"{other}; convert it, or leave it out"
    )


def _words(values: Values, other: Values) -> str:
    """Say what a column holds; of lists also how long they are, where that is the difference."""
    if values.kind == other.kind == "vector":
        return f"lists of {values.width} numbers"
    return values.holds
