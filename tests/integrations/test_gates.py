"""What the modules for other packages share, and what each says where its package is missing."""

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

import nammd
from nammd.integrations.gates import check, figures, passes
from tests.integrations.pipeline import OUTCOMES, shop  # noqa: F401
from tests.waiting import GUARD

PACKAGES = {
    "airflow": "airflow",
    "dagster": "dagster",
    "great_expectations": "great-expectations",
    "mlflow": "mlflow",
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_pipeline_goes_on_as_assertions_do(shop, name):  # noqa: F811
    verdict = check(shop / "tolerance.json", shop / "train.parquet", shop / f"{name}.parquet")
    found = figures(verdict)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["verdict"] == OUTCOMES[name]
    assert found["share_of_tolerance"] == verdict.distance / verdict.epsilon
    assert passes(verdict, "fail") is (name == "close")
    assert passes(verdict, "pass") is (name in ("close", "few"))


def test_options_and_reports_reach_the_check(shop, tmp_path):  # noqa: F811
    files = shop / "tolerance.json", shop / "train.parquet", shop / "copy.parquet"
    allowed = check(*files, {"allow": ["same-data", "rows-of-the-reference"]}, tmp_path / "report.html")
    assert (allowed.word, allowed.failures) == ("CLOSE", ())
    assert "CLOSE" in (tmp_path / "report.html").read_text("utf-8")


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)
    return done.returncode, done.stdout + done.stderr


def test_importing_the_room_imports_no_package():
    code = "import sys, nammd.integrations, nammd.integrations.dagster, nammd.integrations.mlflow\n"
    assert run(f"{code}print(set(sys.modules) & {set(PACKAGES)!r})") == (0, "set()\n")


@pytest.mark.parametrize("module", PACKAGES)
def test_a_package_that_is_missing_is_named_with_how_to_install_it(module):
    if find_spec(module) is not None:
        pytest.skip(f"{module} is installed")
    use = {
        "dagster": "from nammd.integrations.dagster import tolerance_check as f; f('a', 't', 'r')",
        "mlflow": "from nammd.integrations.mlflow import load_tolerance as f; f('models:/a/1')",
    }
    code, said = run(use.get(module, f"import nammd.integrations.{module}"))
    assert code == 1
    assert f"pip install 'nammd[{PACKAGES[module]}]'" in said.splitlines()[-1]


def test_extras_are_those_that_messages_name():
    import tomllib
    from pathlib import Path

    root = Path(nammd.__file__).resolve().parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(PACKAGES.values()) <= set(extras)
