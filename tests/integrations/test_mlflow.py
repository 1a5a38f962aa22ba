"""Verdicts and tolerances in a real store of MLflow."""

import json
import re

import pytest

import nammd
from nammd.integrations.mlflow import load_tolerance, log_tolerance, log_verdict, promote

pytest.importorskip("mlflow", reason="MLflow is not installed; see make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory):
    """MLflow with a database of its own, and a model with a tolerance."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        import mlflow

        folder = tmp_path_factory.mktemp("mlflow")
        patch.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.set_experiment("orders")
        yield mlflow


@pytest.fixture
def limit(pipeline):
    return nammd.Tolerance.load(pipeline / "tolerance.json")


def registered(mlflow, name):
    """Return the identity of a new version of a model."""

    class Echo(mlflow.pyfunc.PythonModel):
        def predict(self, model_input: list[float]) -> list[float]:
            return model_input

    with mlflow.start_run():
        made = mlflow.pyfunc.log_model(name="model", python_model=Echo(), registered_model_name=name)
    return made.model_id


def test_a_verdict_is_in_the_active_run(mlflow, pipeline, limit):
    verdict, good = (
        limit.check(pipeline / "train.parquet", pipeline / f"{name}.parquet") for name in ("far", "close")
    )
    with mlflow.start_run() as run:
        log_verdict(verdict)
        log_verdict(good, name="later", report=False)
    data = mlflow.get_run(run.info.run_id).data
    assert (data.tags["nammd.verdict"], data.tags["later.verdict"]) == ("FAR", "CLOSE")
    assert data.tags["nammd.answer"] == verdict.headline()
    assert data.metrics["nammd.share_of_tolerance"] == pytest.approx(verdict.distance / verdict.epsilon)
    assert data.metrics["nammd.rows"] == 600

    def files(folder):
        return {f.path for f in mlflow.artifacts.list_artifacts(run_id=run.info.run_id, artifact_path=folder)}

    assert files("nammd") == {"nammd/report.html", "nammd/verdict.json"}
    assert files("later") == {"later/verdict.json"}
    kept = mlflow.artifacts.load_text(f"runs:/{run.info.run_id}/nammd/verdict.json")
    assert json.loads(kept)["pvalue_far"] == verdict.pvalue_far


def test_a_verdict_is_in_the_run_that_is_named(mlflow, pipeline, limit):
    client = mlflow.MlflowClient()
    run = client.create_run(mlflow.get_experiment_by_name("orders").experiment_id)
    verdict = limit.check(pipeline / "train.parquet", pipeline / "few.parquet")
    log_verdict(verdict, run_id=run.info.run_id, report=False)
    assert mlflow.active_run() is None
    assert client.get_run(run.info.run_id).data.tags["nammd.verdict"] == "UNDECIDED"


def test_a_model_is_promoted_with_its_own_tolerance_or_not_at_all(mlflow, pipeline, limit):
    client = mlflow.MlflowClient()
    log_tolerance(limit, registered(mlflow, "orders"))
    log_tolerance(pipeline / "tolerance.json", registered(mlflow, "orders"))
    loaded = load_tolerance("models:/orders/1")
    assert (loaded.epsilon, loaded.origin) == (limit.epsilon, limit.origin)
    train = pipeline / "train.parquet"
    assert promote("orders", 1, train, pipeline / "close.parquet").decision == "CLOSE"

    def champion():
        return str(client.get_model_version_by_alias("orders", "champion").version)

    assert champion() == "1"
    assert load_tolerance("models:/orders@champion").epsilon == limit.epsilon
    for name, undecided in (("far", "pass"), ("few", "fail"), ("copy", "pass")):
        with pytest.raises(AssertionError, match="FAR" if name == "far" else "UNDECIDED"):
            promote("orders", 2, train, pipeline / f"{name}.parquet", undecided=undecided)
        assert champion() == "1"
    assert client.get_model_version("orders", "2").tags["nammd.verdict"] == "UNDECIDED"
    promote("orders", "2", train, pipeline / "few.parquet", undecided="pass")
    assert champion() == "2"


def test_a_model_without_a_tolerance_is_not_promoted(mlflow, pipeline):
    registered(mlflow, "bare")
    with pytest.raises(ValueError, match="has no tolerance"):
        promote("bare", 1, pipeline / "train.parquet", pipeline / "close.parquet")
    assert not mlflow.MlflowClient().get_registered_model("bare").aliases


def test_a_tolerance_that_somebody_changed_is_refused(mlflow, pipeline, limit, tmp_path):
    model = registered(mlflow, "changed")
    log_tolerance(limit, model)
    path = tmp_path / "tolerance.json"
    text = (pipeline / "tolerance.json").read_text("utf-8")
    changed, count = re.subn(r'("epsilon": 0\.)\d', r"\g<1>9", text, count=1)
    assert count == 1
    path.write_text(changed, "utf-8")
    mlflow.MlflowClient().log_model_artifact(model, str(path), "nammd")
    with pytest.raises(ValueError, match="changed or damaged"):
        promote("changed", 1, pipeline / "train.parquet", pipeline / "close.parquet")
