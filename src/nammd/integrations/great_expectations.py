"""An expectation for Great Expectations: `ExpectTableToBeCloseToReference`.

It needs the rows, so it works on batches of pandas, and on those of SQL, which are read.
"""

# No "from __future__ import annotations": pydantic must be able to read the types of the fields.

from typing import Any, ClassVar, Literal

from nammd.integrations.gates import check, figures, missing, passes

try:
    from great_expectations.core.metric_domain_types import MetricDomainTypes
    from great_expectations.execution_engine import PandasExecutionEngine, SqlAlchemyExecutionEngine
    from great_expectations.expectations.expectation import BatchExpectation
    from great_expectations.expectations.metrics.metric_provider import metric_value
    from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
except ImportError as error:
    raise missing("great_expectations", "great-expectations", error) from None

METRIC = "table.nammd_verdict"
_CHECK = ("tolerance", "reference", "options", "report")


class TableVerdict(TableMetricProvider):
    """What a check of the rows of a batch comes to."""

    metric_name = METRIC
    value_keys = _CHECK

    @metric_value(engine=PandasExecutionEngine)
    def _pandas(
        cls: Any,
        execution_engine: Any,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        **rest: Any,
    ) -> Any:
        rows, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, MetricDomainTypes.TABLE)
        return _verdict(rows, metric_value_kwargs)

    @metric_value(engine=SqlAlchemyExecutionEngine)
    def _sqlalchemy(
        cls: Any,
        execution_engine: Any,
        metric_domain_kwargs: dict[str, Any],
        metric_value_kwargs: dict[str, Any],
        **rest: Any,
    ) -> Any:
        import pandas
        import sqlalchemy

        table, _, _ = execution_engine.get_compute_domain(metric_domain_kwargs, MetricDomainTypes.TABLE)
        found = execution_engine.execute_query(sqlalchemy.select(sqlalchemy.text("*")).select_from(table))
        return _verdict(pandas.DataFrame(found.fetchall(), columns=list(found.keys())), metric_value_kwargs)


class ExpectTableToBeCloseToReference(BatchExpectation):
    """Expect a table to be within a tolerance of a reference: proven to be CLOSE.

    The verdict is the observed value, and its numbers and reasons are the details of the result.

    Parameters
    ----------
    tolerance : str
        The file of a tolerance: what close enough means.
    reference : str
        The file, or the address, of the reference; see `nammd.distance`.
    undecided : {"fail", "pass"}
        What to do where the data do not settle it. A fact that speaks against the table fails in any case.
    report : str, optional
        The page to write about the check.
    options : dict, optional
        Further options of `Tolerance.check`.
    """

    tolerance: str
    reference: str
    undecided: Literal["fail", "pass"] = "fail"
    report: str | None = None
    options: dict[str, Any] | None = None

    metric_dependencies: ClassVar[tuple[str, ...]] = (METRIC,)
    success_keys: ClassVar[tuple[str, ...]] = (*_CHECK, "undecided")
    domain_keys: ClassVar[tuple[str, ...]] = ("batch_id",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        verdict = metrics[METRIC]
        return {
            "success": passes(verdict, self.undecided),
            "result": {"observed_value": str(verdict.decision), "details": figures(verdict)},
        }


def _verdict(rows: Any, asked: dict[str, Any]) -> Any:
    return check(asked["tolerance"], asked["reference"], rows, asked.get("options"), asked.get("report"))
