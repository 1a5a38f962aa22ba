"""A check of a Dagster asset from a tolerance: `tolerance_check`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from nammd.errors.checks import choice
from nammd.integrations.gates import check, figures, missing, passes
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict

Undecided: TypeAlias = Literal["warn", "fail", "pass"]


def tolerance_check(
    asset: Any,
    tolerance: Tolerance | str | Path,
    reference: Any,
    *,
    name: str = "close_to_reference",
    data: Callable[[], Any] | None = None,
    undecided: Undecided = "warn",
    blocking: bool = True,
    report: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return an asset check: that the asset is within a tolerance of the reference.

    CLOSE passes. FAR fails with the severity ERROR, so that a check that blocks stops what comes after the
    asset. The verdict, its numbers and its reasons are metadata of the result.

    Parameters
    ----------
    asset : asset, key or str
        The asset, as `dagster.asset_check` takes it.
    tolerance : Tolerance or path
        What close enough means; a file is read with every run.
    reference : dataset or path
        What the asset is compared with; see `nammd.distance`.
    name : str
        What the check is called.
    data : callable, optional
        It returns the data of the asset, or their path; by default its value as the I/O manager loads it.
    undecided : {"warn", "fail", "pass"}
        What to do where the data do not settle it: fail with the severity WARN, which blocks nothing; fail
        with ERROR; or pass. A fact that speaks against the data fails in any case.
    blocking : bool
        Whether a failure stops what comes after the asset.
    report : path, optional
        The page to write about the last check.
    options : mapping, optional
        Further options of `Tolerance.check`.

    Returns
    -------
    dagster.AssetChecksDefinition
    """
    choice(undecided, "undecided", get_args(Undecided))
    try:
        import dagster
    except ImportError as error:
        raise missing("dagster", "dagster", error) from None

    def result(candidate: Any) -> Any:
        return _result(check(tolerance, reference, candidate, options, report), undecided, report)

    made = dagster.asset_check(
        asset=asset, name=name, blocking=blocking, description="Within the tolerance of the reference."
    )
    # For a function that takes something Dagster loads the value of the asset.
    return made(result if data is None else lambda: result(data()))


def _result(verdict: Verdict, undecided: Undecided, report: str | Path | None) -> Any:
    import dagster

    # What only warns would pass if it were let through: facts against the data are no such thing.
    warns = undecided == "warn" and passes(verdict, "pass")
    severity = dagster.AssetCheckSeverity.WARN if warns else dagster.AssetCheckSeverity.ERROR
    found = figures(verdict)
    metadata = {label: value for label, value in found.items() if value is not None and value != []}
    metadata["table"] = dagster.MetadataValue.md(f"```\n{verdict}\n```")
    if report is not None:
        metadata["report"] = dagster.MetadataValue.path(Path(report).resolve())
    return dagster.AssetCheckResult(
        passed=passes(verdict, "pass" if undecided == "pass" else "fail"),
        severity=severity,
        description=verdict.headline(),
        metadata=metadata,
    )
