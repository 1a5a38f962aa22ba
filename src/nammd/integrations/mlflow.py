"""Verdicts in runs of MLflow, tolerances with models, and a check before a model is promoted.

`log_verdict`, `log_tolerance`, `load_tolerance` and `promote`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nammd.integrations.gates import check, figures, missing
from nammd.testing import require_close
from nammd.tolerances.tolerance import Tolerance
from nammd.tolerances.verdict import Verdict

FOLDER, FILE = "nammd", "tolerance.json"
"""Where a model has its tolerance."""


def log_verdict(
    verdict: Verdict, *, name: str = "nammd", run_id: str | None = None, report: bool = True
) -> None:
    """Log a verdict to a run: its word as a tag, its numbers as metrics, the rest as artifacts.

    Parameters
    ----------
    verdict : Verdict
        What a check came to.
    name : str
        What tags and metrics begin with, and the folder of the artifacts; give another one for a second
        verdict of the same run.
    run_id : str, optional
        The run; by default the active one, and a new one where there is none.
    report : bool
        Whether the report with pictures is an artifact too; it holds rows of the data.
    """
    mlflow = _mlflow()
    found = figures(verdict)
    numbers = {
        f"{name}.{label}": float(value) for label, value in found.items() if isinstance(value, (int, float))
    }
    tags = {f"{name}.verdict": str(verdict.decision), f"{name}.answer": verdict.headline()}
    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    client = mlflow.MlflowClient()
    for label, value in numbers.items():
        client.log_metric(run, label, value)
    for label, text in tags.items():
        client.set_tag(run, label, text)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "verdict.json").write_text(json.dumps(verdict.to_dict(), allow_nan=False), "utf-8")
        if report:
            verdict.report(Path(folder, "report.html"))
        client.log_artifacts(run, folder, name)


def log_tolerance(tolerance: Tolerance | str | Path, model_id: str) -> None:
    """Log a tolerance as an artifact of a model, so that it goes where the model goes.

    Parameters
    ----------
    tolerance : Tolerance or path
        What close enough to the training data means.
    model_id : str
        The model: ``mlflow.sklearn.log_model(...).model_id``, for example.
    """
    limit = tolerance if isinstance(tolerance, Tolerance) else Tolerance.load(tolerance)
    with tempfile.TemporaryDirectory() as folder:
        limit.save(Path(folder, FILE))
        _mlflow().MlflowClient().log_model_artifact(model_id, str(Path(folder, FILE)), FOLDER)


def load_tolerance(model: str) -> Tolerance:
    """Return the tolerance of a model.

    Parameters
    ----------
    model : str
        Its address: ``"models:/NAME/VERSION"``, ``"models:/NAME@ALIAS"`` or ``"models:/MODEL_ID"``.

    Returns
    -------
    Tolerance
    """
    mlflow = _mlflow()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = mlflow.artifacts.download_artifacts(f"{model}/{FOLDER}/{FILE}", dst_path=folder)
        except (OSError, mlflow.MlflowException) as error:
            raise ValueError(
                f"the model {model} has no tolerance, or cannot be read ({type(error).__name__}); "
                "log_tolerance gives it one"
            ) from error
        return Tolerance.load(found)


def promote(
    name: str,
    version: int | str,
    reference: Any,
    candidate: Any,
    *,
    alias: str = "champion",
    undecided: str = "fail",
    options: Mapping[str, Any] | None = None,
) -> Verdict:
    """Give a model an alias, if the data that it will see are close enough to those it was made from.

    The tolerance is that of the model, see `log_tolerance`. The verdict becomes tags of the version of the
    model, whether it is promoted or not.

    Parameters
    ----------
    name : str
        The registered model.
    version : int or str
        Its version.
    reference : dataset
        The data that it was made from; see `nammd.distance`.
    candidate : dataset
        The data that it will see.
    alias : str
        The alias.
    undecided : {"fail", "pass"}
        What to do where the data do not settle it.
    options : mapping, optional
        Further options of `Tolerance.check`.

    Returns
    -------
    Verdict

    Raises
    ------
    AssertionError
        If it is not promoted, with the verdict in words; the alias stays where it is.
    """
    client = _mlflow().MlflowClient()
    verdict = check(load_tolerance(f"models:/{name}/{version}"), reference, candidate, options)
    for label, text in (("nammd.verdict", str(verdict.decision)), ("nammd.answer", verdict.headline())):
        client.set_model_version_tag(name, str(version), label, text)
    require_close(verdict, undecided)
    client.set_registered_model_alias(name, alias, str(version))
    return verdict


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise missing("mlflow", "mlflow", error) from None
    return mlflow
