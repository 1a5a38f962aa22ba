"""Asset checks in real runs of Dagster."""

import pytest
from pyarrow import parquet

from nammd.integrations.dagster import tolerance_check

dagster = pytest.importorskip("dagster", reason="Dagster is not installed; see make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "1")
    monkeypatch.chdir(tmp_path)


def materialized(pipeline, name, by_path=False, **options):
    """Run an asset, its check and an asset after it; return the check, and what there is in the end."""
    path = pipeline / f"{name}.parquet"

    @dagster.asset
    def orders():
        return None if by_path else parquet.read_table(path)

    @dagster.asset(deps=[orders])
    def revenue():
        return 1

    if by_path:
        options["data"] = lambda: path
    made = tolerance_check(orders, pipeline / "tolerance.json", pipeline / "train.parquet", **options)
    done = dagster.materialize([orders, revenue, made], raise_on_error=False)
    [found] = done.get_asset_check_evaluations()
    assert found.check_name == "close_to_reference"
    there = {event.asset_key.to_user_string() for event in done.get_asset_materialization_events()}
    assert "orders" in there
    return found, "revenue" in there


@pytest.mark.parametrize(
    ("name", "undecided", "passed", "severity", "goes_on"),
    [
        ("close", "warn", True, None, True),
        ("far", "warn", False, "ERROR", False),
        ("far", "pass", False, "ERROR", False),
        ("few", "warn", False, "WARN", True),
        ("few", "fail", False, "ERROR", False),
        ("few", "pass", True, None, True),
        ("copy", "warn", False, "ERROR", False),
        ("copy", "pass", False, "ERROR", False),
    ],
)
def test_verdicts_are_outcomes_of_the_check(pipeline, name, undecided, passed, severity, goes_on):
    found, went_on = materialized(pipeline, name, undecided=undecided)
    assert (found.passed, went_on) == (passed, goes_on)
    if severity is not None:
        assert found.severity.value == severity
    assert found.description.startswith(found.metadata["verdict"].value)
    assert found.metadata["share_of_tolerance"].value >= 0


def test_a_check_that_does_not_block_lets_the_rest_run(pipeline):
    found, went_on = materialized(pipeline, "far", blocking=False)
    assert (found.passed, went_on) == (False, True)


def test_nammd_reads_the_file_itself_and_writes_a_report(pipeline, tmp_path):
    options = {"report": tmp_path / "far.html", "options": {"alpha": 0.01}}
    found, _ = materialized(pipeline, "far", by_path=True, **options)
    assert found.metadata["verdict"].value == "FAR"
    assert any("amount" in reason for reason in found.metadata["reasons"].value)
    assert found.metadata["report"].path == str((tmp_path / "far.html").resolve())
    assert (tmp_path / "far.html").exists()


def test_a_wrong_option_is_refused_when_the_check_is_made(pipeline):
    with pytest.raises(ValueError, match="undecided"):
        tolerance_check("orders", pipeline / "tolerance.json", pipeline / "train.parquet", undecided="skip")
