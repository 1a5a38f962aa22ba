"""The expectation in real validations, of pandas and of a database."""

import sqlite3

import pytest
from pyarrow import parquet

from tests.integrations.pipeline import OUTCOMES

gx = pytest.importorskip(
    "great_expectations", reason="Great Expectations is not installed; see make test-integrations"
)
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def context(monkeypatch, tmp_path):
    monkeypatch.setenv("GX_ANALYTICS_ENABLED", "false")
    monkeypatch.chdir(tmp_path)
    made = gx.get_context(mode="ephemeral")
    made.variables.progress_bars = {"globally": False}
    return made


def expected(pipeline, **options):
    from nammd.integrations.great_expectations import ExpectTableToBeCloseToReference

    files = {"tolerance": str(pipeline / "tolerance.json"), "reference": str(pipeline / "train.parquet")}
    return ExpectTableToBeCloseToReference(**files, **options)


def frame(pipeline, name):
    return parquet.read_table(pipeline / f"{name}.parquet").to_pandas()


@pytest.fixture
def batch(context, pipeline):
    asset = context.data_sources.add_pandas("memory").add_dataframe_asset("orders")
    definition = asset.add_batch_definition_whole_dataframe("all")
    return lambda name: definition.get_batch(batch_parameters={"dataframe": frame(pipeline, name)})


@pytest.mark.parametrize(
    ("name", "undecided", "success"),
    [
        ("close", "fail", True),
        ("far", "pass", False),
        ("few", "fail", False),
        ("few", "pass", True),
        ("copy", "pass", False),
    ],
)
def test_verdicts_are_successes_or_failures(pipeline, batch, name, undecided, success):
    found = batch(name).validate(expected(pipeline, undecided=undecided))
    assert found.exception_info["raised_exception"] is False
    assert found.success is success
    assert found.result["observed_value"] == OUTCOMES[name]
    assert found.result["details"]["rows"] == frame(pipeline, name).shape[0]


def test_options_and_a_report(pipeline, batch, tmp_path):
    options = {"allow": ["same-data"]}
    page = tmp_path / "report.html"
    assert (
        batch("copy")
        .validate(expected(pipeline, undecided="pass", options=options, report=str(page)))
        .success
    )
    assert page.exists()


def test_a_table_of_a_database_is_read(pipeline, context, tmp_path):
    with sqlite3.connect(tmp_path / "orders.db") as db:
        for name in ("close", "far"):
            frame(pipeline, name).to_sql(name, db, index=False)
    source = context.data_sources.add_sqlite("db", connection_string=f"sqlite:///{tmp_path}/orders.db")
    for name in ("close", "far"):
        table = source.add_table_asset(name, table_name=name).add_batch_definition_whole_table("all")
        found = table.get_batch().validate(expected(pipeline))
        assert found.result["observed_value"] == OUTCOMES[name]
        assert found.success is (name == "close")


def test_a_suite_that_was_stored_expects_the_same(pipeline, tmp_path, monkeypatch):
    monkeypatch.setenv("GX_ANALYTICS_ENABLED", "false")
    first = gx.get_context(mode="file", project_root_dir=tmp_path)
    suite = first.suites.add(gx.ExpectationSuite("orders"))
    suite.add_expectation(expected(pipeline, undecided="pass"))
    again = gx.get_context(mode="file", project_root_dir=tmp_path).suites.get("orders")
    [found] = again.expectations
    assert (found.undecided, found.tolerance) == ("pass", str(pipeline / "tolerance.json"))


def test_what_cannot_be_read_is_an_error_of_the_validation(pipeline, batch):
    wrong = (
        expected(pipeline).model_copy()
        if hasattr(expected(pipeline), "model_copy")
        else expected(pipeline).copy()
    )
    wrong.tolerance = str(pipeline / "nothing.json")
    found = batch("close").validate(wrong)
    assert found.success is False
    assert "nothing.json" in str(found.exception_info)
