"""The pre-commit hook, run by pre-commit itself in the repository of somebody else."""

import json
import shutil
import subprocess
import sys
import tomllib

import pytest

from nammd.cli.demo import CLOSE, FAR, REFERENCE
from tests.integrations.conftest import ROOT
from tests.waiting import GUARD

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
pytest.importorskip("pre_commit", reason="pre-commit is not installed")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


def test_the_hook_installs_what_the_command_line_needs():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert HOOK["additional_dependencies"] == declared["optional-dependencies"]["app"]


def git(folder, *words):
    identity = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=GUARD)
    return done.stdout.strip()


@pytest.fixture
def repository(months, answered_here, tmp_path):
    """A repository with data and the hook; nammd is taken from the PATH, since nothing can be installed."""
    hooks, folder = tmp_path / "hooks", tmp_path / "work"
    hooks.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    for place in (hooks, folder):
        place.mkdir(exist_ok=True)
        git(place, "init", "--quiet")
    git(hooks, "add", ".")
    git(hooks, "commit", "--quiet", "-m", "hooks")
    (folder / "incoming").mkdir()
    shutil.copy(months / REFERENCE, folder / "reference.parquet")
    shutil.copy(months / "tolerance.json", folder)
    hook = {
        "id": "nammd-check",
        "args": ["reference.parquet", "--tolerance", "tolerance.json"],
        "files": "^incoming/",
        "language": "system",
        "additional_dependencies": [],
    }
    configured = {"repos": [{"repo": str(hooks), "rev": git(hooks, "rev-parse", "HEAD"), "hooks": [hook]}]}
    (folder / ".pre-commit-config.yaml").write_text(json.dumps(configured))
    own = answered_here | {"PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": "/dev/null"}

    def run(**other):
        git(folder, "add", ".")
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--color", "never"],
            cwd=folder,
            env=own | other,
            capture_output=True,
            text=True,
            timeout=GUARD,
        )

    return folder, run


def test_close_files_pass_and_a_far_one_stops_the_commit(repository, months):
    folder, run = repository
    shutil.copy(months / CLOSE, folder / "incoming" / "february.parquet")
    ran = run()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Passed" in ran.stdout
    shutil.copy(months / FAR, folder / "incoming" / "new form.parquet")
    ran = run()
    assert ran.returncode == 1
    assert "FAR: 1 of 2 candidates is beyond the tolerance" in ran.stdout
    assert "incoming/new form.parquet" in ran.stdout
    assert ran.stdout.count("FAR: ") == 1  # one process had both of them


def test_no_file_is_an_option(repository, months, environment):
    folder, run = repository
    config = folder / ".pre-commit-config.yaml"
    config.write_text(config.read_text().replace("^incoming/", "^(incoming/|-)"))
    shutil.copy(months / FAR, folder / "--undecided=ok.parquet")
    shutil.copy(months / FAR, folder / "--help.parquet")
    ran = run(PATH=environment["PATH"])  # with the real program
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "2 candidates are beyond the tolerance" in ran.stdout
    assert "--undecided=ok.parquet" in ran.stdout
    assert "--help.parquet" in ran.stdout


def test_without_data_files_there_is_nothing_to_do(repository):
    folder, run = repository
    (folder / "notes.md").write_text("nothing")
    ran = run()
    assert ran.returncode == 0
    assert "Skipped" in ran.stdout
