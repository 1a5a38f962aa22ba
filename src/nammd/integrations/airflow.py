"""An operator for Airflow that checks data against a tolerance: `ToleranceOperator`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from nammd.errors.checks import choice
from nammd.integrations.gates import check, figures, missing, passes
from nammd.tolerances.tolerance import Tolerance

try:
    from airflow.sdk import BaseOperator
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
except ImportError as error:
    raise missing("airflow", "airflow", error) from None

Undecided: TypeAlias = Literal["skip", "pass", "fail"]


class ToleranceOperator(BaseOperator):
    """Checks data against a tolerance; the verdict is the state of the task.

    CLOSE is success. FAR fails the task at once: another attempt would find the same. UNDECIDED skips it, and
    so what comes after it, unless `undecided` says otherwise. The numbers of the verdict are the XCom
    ``"verdict"`` of the task, in every case.

    Parameters
    ----------
    tolerance : path or Tolerance
        What close enough means.
    reference, candidate : path or dataset
        What is compared; see `nammd.distance`. Paths and addresses may have templates.
    undecided : {"skip", "pass", "fail"}
        What becomes of the task where the data do not settle it. A fact that speaks against the candidate
        fails it in any case.
    report : path, optional
        The page to write about the check; it may have templates.
    options : mapping, optional
        Further options of `Tolerance.check`.
    **task
        What every operator takes, ``task_id`` above all.
    """

    template_fields: Sequence[str] = ("tolerance", "reference", "candidate", "report")
    ui_color = "#dcefe4"

    def __init__(
        self,
        *,
        tolerance: Tolerance | str,
        reference: Any,
        candidate: Any,
        undecided: Undecided = "skip",
        report: str | None = None,
        options: Mapping[str, Any] | None = None,
        **task: Any,
    ) -> None:
        super().__init__(**task)
        choice(undecided, "undecided", get_args(Undecided))
        self.tolerance = tolerance
        self.reference = reference
        self.candidate = candidate
        self.undecided = undecided
        self.report = report
        self.options = options

    def execute(self, context: Any) -> None:
        """Check; the state of the task follows."""
        verdict = check(self.tolerance, self.reference, self.candidate, self.options, self.report)
        context["ti"].xcom_push(key="verdict", value=figures(verdict))
        self.log.info("%s", verdict)
        if passes(verdict, "pass" if self.undecided == "pass" else "fail"):
            return
        if self.undecided == "skip" and passes(verdict, "pass"):
            raise AirflowSkipException(verdict.headline())
        raise AirflowFailException(verdict.headline())
