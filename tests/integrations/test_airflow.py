"""The operator in real runs of Airflow: the DAG of the documentation, and all ways to take an outcome."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.integrations.pipeline import write_files
from tests.waiting import GUARD

pytest.importorskip("airflow", reason="Airflow is not installed; see make test-integrations")
pytestmark = pytest.mark.filterwarnings("default")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations" / "airflow.md"
DAYS = {"close": "2026-03-01", "far": "2026-03-02", "few": "2026-03-03"}

EVERY_WAY = """
import datetime
import os

from airflow.sdk import dag

from nammd.integrations.airflow import ToleranceOperator

DATA = os.environ["DATA"]


@dag(schedule=None, start_date=datetime.datetime(2026, 3, 1))
def every_way():
    for name in ("few", "copy", "far"):
        for undecided in ("skip", "pass", "fail"):
            ToleranceOperator(
                task_id=f"{name}_{undecided}",
                tolerance=f"{DATA}/tolerance.json",
                reference=f"{DATA}/train.parquet",
                candidate=f"{DATA}/{name}.parquet",
                undecided=undecided,
                retries=3,
                options={"alpha": 0.04},
            )


every_way()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home of Airflow with a database, and the data of the pipeline by day."""
    folder = tmp_path_factory.mktemp("airflow")
    write_files(folder)
    for name, day in DAYS.items():
        shutil.copy(folder / f"{name}.parquet", folder / f"{day}.parquet")
    (folder / "dags").mkdir()
    [dag] = re.findall(r"```python\n(import datetime.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (folder / "dags" / "orders.py").write_text(dag, "utf-8")
    (folder / "dags" / "every_way.py").write_text(EVERY_WAY, "utf-8")
    assert airflow(folder, "db", "migrate") == 0
    return folder


def airflow(folder, *words):
    settings = {
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "DATA": str(folder),
    }
    command = [sys.executable, "-m", "airflow", *words]
    with open(folder / "log.txt", "ab") as log:
        return subprocess.run(
            command, env=os.environ | settings, stdout=log, stderr=log, cwd=folder, timeout=GUARD
        ).returncode


def asked(folder, query, *values):
    with closing(sqlite3.connect(folder / "home" / "airflow.db")) as db:
        return db.execute(query, values).fetchall()


def states(folder, dag):
    found = asked(folder, "SELECT task_id, state, try_number FROM task_instance WHERE dag_id = ?", dag)
    return {task: (state, tries) for task, state, tries in found}


@pytest.mark.parametrize(
    ("name", "code", "check", "load"),
    [
        ("close", 0, "success", "success"),
        ("far", 1, "failed", "upstream_failed"),
        ("few", 0, "skipped", "skipped"),
    ],
)
def test_the_dag_of_the_page_runs_and_verdicts_are_states(home, name, code, check, load):
    assert airflow(home, "dags", "test", "orders", DAYS[name]) == code
    found = asked(
        home,
        "SELECT t.task_id, t.state FROM task_instance t JOIN dag_run r USING (run_id) "
        "WHERE t.dag_id = 'orders' AND r.logical_date LIKE ?",
        f"{DAYS[name]}%",
    )
    assert dict(found) == {"check": check, "load": load}
    assert (home / f"{DAYS[name]}.html").exists()


def test_every_way_to_take_an_outcome_and_what_is_known_of_it_in_any_case(home):
    assert airflow(home, "dags", "test", "every_way") == 1
    tasks = states(home, "every_way")
    assert {tries for _, tries in tasks.values()} == {1}  # although the tasks have retries
    found = {task: state for task, (state, _) in tasks.items()}
    assert found == {
        "few_skip": "skipped",
        "few_pass": "success",
        "few_fail": "failed",
        **{f"{name}_{way}": "failed" for name in ("copy", "far") for way in ("skip", "pass", "fail")},
    }
    kept = asked(home, "SELECT task_id, value FROM xcom WHERE dag_id = 'every_way' AND key = 'verdict'")
    words = {task: json.loads(value) for task, value in kept}
    words = {task: json.loads(v) if isinstance(v, str) else v for task, v in words.items()}
    assert set(words) == set(found)
    assert {words[f"far_{way}"]["verdict"] for way in ("skip", "pass", "fail")} == {"FAR"}
    assert words["copy_pass"]["failures"]


def test_a_wrong_option_is_refused_when_the_dag_is_read():
    from nammd.integrations.airflow import ToleranceOperator

    with pytest.raises(ValueError, match="undecided"):
        ToleranceOperator(task_id="a", tolerance="t", reference="r", candidate="c", undecided="warn")
