"""From what a user has to a two-dimensional sample, or a sentence that says what is wrong with it.

Arrays stay where they are and keep their namespace; float32 stays float32, everything else numeric
becomes float64. Tables (pandas, polars, Arrow) are read through narwhals and become NumPy. Dask arrays and
dataframes become Dask arrays of known blocks, after one pass over them on the cluster.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from nammd.data.arrays import Array, is_foreign_array, namespace
from nammd.data.pieces import Parts, facts_of, is_dask, is_dask_table, known, spread, wrapped


def as_sample(data: Any, name: str) -> Array:
    """Return `data` as a two-dimensional floating-point array of finite numbers."""
    if is_dask(data):
        return _as_spread_sample(data, name)
    require_rows(data, name)
    sample = _as_rows(data, name)
    if sample.shape[0] == 0 or sample.shape[1] == 0:
        raise ValueError(f"{name} is empty: it has shape {tuple(sample.shape)}")
    sample = _as_floating(sample, name)
    _require_finite(sample, name)
    return sample


def require_rows(data: Any, name: str) -> None:
    """Refuse a sketch where rows are needed."""
    if getattr(type(data), "keeps_no_rows", False):  # not by its class, which is made of what is here
        raise TypeError(
            f"{name} is a sketch, and this needs rows, which sketches do not keep; give the data themselves. "
            "distance, closeness_test, compare_pairs and the checks of a tolerance take sketches"
        )


def _as_rows(data: Any, name: str) -> Array:
    """Return `data` as a two-dimensional array of numbers."""
    table = _as_table(data, name)
    sample = as_columns(_table_values(table, name) if table is not None else _as_array(data, name))
    if sample.ndim != 2:
        raise ValueError(
            f"{name} has {sample.ndim} dimensions; give one row per observation, for example "
            f"{name}.reshape(len({name}), -1)"
        )
    return sample


def _as_spread_sample(data: Any, name: str) -> Array:
    """Return a Dask array or dataframe as a Dask array of known blocks of finite numbers."""
    if facts_of(data) is not None:
        return data  # made here
    # What has no rows has the same columns and types, so it meets the same objections.
    table = is_dask_table(data)
    if not table and not hasattr(type(data), "chunks"):
        raise TypeError(f"{name} must be a Dask array or dataframe, not {type(data).__name__}")
    empty = data._meta if table else np.empty((0,) * (data.ndim > 0) + data.shape[1:], data.dtype)
    model = _as_floating(_as_rows(empty, name), name)
    if model.shape[1] == 0:
        raise ValueError(f"{name} is empty: it has no columns")
    sample = spread(Parts.of(data), partial(_floating_rows, name=name), model.shape[1], model.dtype)
    if sample.shape[0] == 0:
        raise ValueError(f"{name} is empty: it has shape {tuple(sample.shape)}")
    facts = facts_of(sample)
    assert facts is not None
    if facts.wrong:
        raise _not_finite(name, facts.wrong, sample.shape[0])
    return sample


def _floating_rows(part: Any, name: str) -> Array:
    return _as_floating(_as_rows(part, name), name)


def as_samples(min_rows: int = 1, **data: Any) -> tuple[Array, ...]:
    """Return several samples of the same columns in one namespace and floating-point type.

    The keywords are the names used in error messages. Tables with the same column names in another
    order are matched by name.
    """
    tables = {name: t for name, value in data.items() if (t := _names_in(value, name)) is not None}
    first_name = next(iter(tables), "")
    first = tables.get(first_name)
    aligned = {name: _align(value, name, first, first_name) for name, value in data.items()}
    samples = {name: as_sample(value, name) for name, value in aligned.items()}
    names = list(samples)
    columns = {name: int(s.shape[1]) for name, s in samples.items()}
    for name in names:
        if columns[name] != columns[names[0]]:
            raise ValueError(
                f"{names[0]} has {columns[names[0]]} columns but {name} has {columns[name]}; "
                "both datasets must have the same columns"
            )
        rows = int(samples[name].shape[0])
        if rows < min_rows:
            raise ValueError(
                f"{name} has {rows} row{'s' if rows != 1 else ''}; at least {min_rows} are needed"
            )
    return _one_type(samples)


def column_names(*data: Any) -> tuple[str, ...]:
    """Return the names of the columns of the first table among datasets, or none."""
    tables = (_names_in(value, "the data") for value in data)
    return next((tuple(map(str, names)) for names in tables if names is not None), ())


def as_columns(data: Array) -> Array:
    """Make one-dimensional data one column; leave the rest alone."""
    if not hasattr(data, "ndim"):
        data = np.asarray(data)
    return data[:, None] if data.ndim == 1 else data


def positive(value: Any, name: str) -> float:
    """Return a positive finite number."""
    number = _number(value, name)
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, not {number}")
    return number


def whole(value: Any, name: str) -> None:
    """Refuse anything but a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")


def between(value: Any, name: str, upper: float = 1.0, hint: str = "") -> float:
    """Return a number strictly between 0 and `upper`."""
    number = _number(value, name)
    if not 0 < number < upper:
        raise ValueError(f"{name} must be strictly between 0 and {upper:g}, not {number:g}{hint}")
    return number


def _number(value: Any, name: str) -> float:
    if not isinstance(value, (str, bytes, bool)):
        try:
            return float(value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} must be a number, not {value!r}")


def choice(value: Any, name: str, options: tuple[str, ...]) -> Any:
    """Return `value` if it is one of the options."""
    if value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {listed}, not {value!r}")
    return value


def _as_table(data: Any, name: str) -> Any:
    """Return a narwhals data frame, or None where `data` is no table."""
    if isinstance(data, (np.ndarray, list, tuple, float, int)):
        return None
    import narwhals as nw

    try:
        native = nw.from_native(data, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"{name} has several columns of the same name: {error}") from None
    if isinstance(native, nw.LazyFrame):
        return native.collect()
    if isinstance(native, nw.Series):
        return native.to_frame()
    return native if isinstance(native, nw.DataFrame) else None


def _names_in(data: Any, name: str) -> list[str] | None:
    """Return the names of the columns of a table; None where `data` is none."""
    if is_dask(data):
        return _names_in(data._meta, name) if is_dask_table(data) else None
    table = _as_table(data, name)
    return None if table is None else list(table.columns)


def _align(data: Any, name: str, first: list[str] | None, first_name: str) -> Any:
    """Reorder the columns of a table to those of the first one."""
    names = _names_in(data, name)
    if names is None or first is None or names == first:
        return data
    if len(names) != len(first) or _is_series(data):
        return data  # the first is reported later; a series has a name, but no columns to match
    missing = [c for c in first if c not in set(names)]
    if missing:
        listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise ValueError(f"{name} lacks columns that {first_name} has: {listed}")
    return data[first] if is_dask(data) else _as_table(data, name).select(first).to_native()


def _is_series(data: Any) -> bool:
    if is_dask(data):
        return bool(data.ndim == 1)
    import narwhals as nw

    return isinstance(nw.from_native(data, pass_through=True, allow_series=True), nw.Series)


def _table_values(table: Any, name: str) -> Any:
    schema = table.collect_schema()
    other = [c for c, kind in schema.items() if not (kind.is_numeric() or _is_boolean(kind))]
    if other:
        listed = ", ".join(map(repr, other[:5])) + (", ..." if len(other) > 5 else "")
        raise TypeError(
            f"{name} has columns that are not numeric: {listed}; encode them as numbers or leave them out"
        )
    if not schema:
        raise ValueError(f"{name} is empty: it has no columns")
    missing = [c for c in table.columns if table.get_column(c).is_null().any()]
    if missing:
        listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise ValueError(f"{name} has missing values in {listed}; fill them or drop those rows first")
    single = all(kind == _float32() for kind in schema.values())
    dtype = np.float32 if single else np.float64
    return np.column_stack([np.asarray(table.get_column(c).to_numpy()).astype(dtype) for c in table.columns])


def _is_boolean(kind: Any) -> bool:
    import narwhals as nw

    return bool(kind == nw.Boolean)


def _float32() -> Any:
    import narwhals as nw

    return nw.Float32


def _as_array(data: Any, name: str) -> Any:
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; fill or drop the masked values first")
    if isinstance(data, np.ndarray):
        return np.asarray(data)
    if is_foreign_array(data):
        return data.detach() if hasattr(data, "detach") else data
    if isinstance(data, (str, bytes)):
        raise TypeError(f"{name} must hold numbers, not text; read the file first")
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(f"the rows of {name} differ in length; they must form a table") from None
    if array.dtype == object or array.ndim == 0:
        raise TypeError(f"{name} must be an array or a table of numbers, not {type(data).__name__}")
    return array


def _as_floating(sample: Array, name: str) -> Array:
    xp = namespace(sample)
    if xp is np:
        if sample.dtype.kind not in "fiub":
            raise TypeError(
                f"{name} has type {sample.dtype}, which is not a real number; encode it as numbers first"
            )
        if sample.dtype == np.float16:
            return sample.astype(np.float32)
        return sample if sample.dtype == np.float32 else sample.astype(np.float64, copy=False)
    if xp.isdtype(sample.dtype, "complex floating"):
        raise TypeError(f"{name} has complex values; split them into real columns first")
    if xp.isdtype(sample.dtype, "real floating"):
        if sample.dtype in (xp.float32, xp.float64):
            return sample
        return xp.astype(sample, xp.float32)  # half precision
    return xp.astype(sample, xp.float64)


def _require_finite(sample: Array, name: str) -> None:
    xp = namespace(sample)
    finite = xp.isfinite(sample)
    if bool(xp.all(finite)):
        return
    bad = int(
        xp.sum(xp.astype(xp.any(~finite, axis=1), xp.int64)) if xp is not np else (~finite).any(1).sum()
    )
    raise _not_finite(name, bad, sample.shape[0])


def _not_finite(name: str, bad: int, rows: int) -> ValueError:
    return ValueError(
        f"{name} contains NaN or infinity in {bad} of its {rows} rows; "
        "fill the missing values or drop those rows first"
    )


def _one_type(samples: dict[str, Array]) -> tuple[Array, ...]:
    """Bring samples to one floating-point type; refuse to mix namespaces.

    But a sample in memory may meet one on a Dask cluster: it is handed to the workers.
    """
    values = tuple(samples.values())
    if any(map(is_dask, values)):
        values = tuple(wrapped(v) if isinstance(v, np.ndarray) else v for v in values)
        samples = dict(zip(samples, values, strict=True))
    if len({type(v).__module__.partition(".")[0] for v in values}) > 1:
        kinds = " and ".join(f"{n} is {type(v).__module__}" for n, v in samples.items())
        raise TypeError(f"the datasets live in different array libraries ({kinds}); convert one")
    if len({v.dtype for v in values}) == 1:
        return values
    if is_dask(values[0]):
        return tuple(in_float64(v) for v in values)
    xp = namespace(*values)
    if xp is np:
        return tuple(v.astype(np.float64, copy=False) for v in values)
    return tuple(xp.astype(v, xp.float64) for v in values)


def in_float64(sample: Array) -> Array:
    """Return a Dask array that `as_sample` made in float64."""
    facts = facts_of(sample)
    assert facts is not None
    return sample if sample.dtype == np.float64 else known(sample.astype(np.float64), facts)
