"""What the modules for other packages share, and what each says where its package is missing."""

import json
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from nammd.integrations.gates import check, figures, passes
from tests.integrations.pipeline import OUTCOMES
from tests.waiting import GUARD

PACKAGES = {
    "airflow": "airflow",
    "dagster": "dagster",
    "great_expectations": "great-expectations",
    "mlflow": "mlflow",
    "sklearn": "sklearn",
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_pipeline_goes_on_as_assertions_do(pipeline, name):
    verdict = check(pipeline / "tolerance.json", pipeline / "train.parquet", pipeline / f"{name}.parquet")
    found = figures(verdict)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["verdict"] == OUTCOMES[name]
    assert found["share_of_tolerance"] == max(verdict.distance, 0.0) / verdict.epsilon
    assert passes(verdict, "fail") is (name == "close")
    assert passes(verdict, "pass") is (name in ("close", "few"))


def test_options_and_reports_reach_the_check(pipeline, tmp_path):
    files = pipeline / "tolerance.json", pipeline / "train.parquet", pipeline / "copy.parquet"
    allowed = check(*files, {"allow": ["same-data"]}, tmp_path / "report.html")
    assert allowed.failures == ()
    assert passes(allowed, "pass")
    assert allowed.decision.value in (tmp_path / "report.html").read_text("utf-8")


def test_importing_the_room_imports_no_package():
    code = "import sys, nammd.integrations, nammd.integrations.dagster, nammd.integrations.mlflow\n"
    code += f"print(set(sys.modules) & {set(PACKAGES)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)
    assert (done.returncode, done.stdout, done.stderr) == (0, "set()\n", "")


def use(module):
    """Import a module, or where that needs no package yet, call what does."""
    room = import_module(f"nammd.integrations.{module}")
    if module == "dagster":
        room.tolerance_check("a", "t", "r")
    elif module == "mlflow":
        room.load_tolerance("models:/a/1")


@pytest.mark.parametrize("module", PACKAGES)
def test_a_package_that_is_missing_is_named_with_how_to_install_it(module):
    if find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    with pytest.raises(ImportError) as caught:
        use(module)
    assert f"pip install 'nammd[{PACKAGES[module]}]'" in str(caught.value)


def test_extras_are_those_that_messages_name():
    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8")
    assert set(PACKAGES.values()) <= set(tomllib.loads(text)["project"]["optional-dependencies"])
