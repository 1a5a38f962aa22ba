"""The pytest plugin, as the test suite of somebody else uses it: in a process of its own."""

import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from nammd.results.wrapping import wrapped
from tests.waiting import GUARD

SUITE = """
import numpy as np
import pytest


@pytest.mark.parametrize("name", ["close", "far"])
def test_candidates(nammd_gate, name):
    nammd_gate("train.npy", "tolerance.json").assert_close(f"{name}.npy")


def test_arrays_and_the_configuration(nammd_gate):
    verdict = nammd_gate().assert_close(np.load("close.npy"), name="today")
    assert verdict.is_close


def test_a_check_without_an_assertion(nammd_gate):
    assert nammd_gate().check("far.npy").is_far


def test_unreadable(nammd_gate):
    with pytest.raises(FileNotFoundError):
        nammd_gate().check("gone.npy")


def test_undecided(nammd_gate):
    import nammd

    tolerance = nammd.Tolerance.at(0.0005, nammd.Gaussian(1.0), n_columns=2)
    few = np.load("train.npy")[:20] + 0.01
    verdict = nammd_gate("train.npy", tolerance, undecided="pass").assert_close(few)
    assert not verdict.is_close and not verdict.is_far
    with pytest.raises(AssertionError, match="UNDECIDED"):
        nammd_gate("train.npy", tolerance).assert_close(few)


def test_nothing_to_do_with_datasets():
    pass
"""
WITHOUT_PICTURES = "from nammd.report import html\nhtml._image = lambda axes: 'data:,'\n"
"""Its pages need none, and they take longest."""

CONFIGURATION = "[pytest]\nnammd_reference = train.npy\nnammd_tolerance = tolerance.json\n"


@pytest.fixture(scope="module")
def suite(project, tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    shutil.copytree(project, folder, dirs_exist_ok=True)
    (folder / "test_data.py").write_text(SUITE)
    (folder / "pytest.ini").write_text(CONFIGURATION)
    (folder / "conftest.py").write_text(WITHOUT_PICTURES)
    return folder


OTHERS = ("cacheprovider", "hypothesispytest", "xdist", "xdist.looponfail", "anyio")
"""Plugins that need not be there, and take longer to import than these tests run."""


def run(folder, environment, *words):
    without = [word for name in OTHERS for word in ("-p", f"no:{name}")]
    command = [sys.executable, "-m", "pytest", *without, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=GUARD)


@pytest.fixture(scope="module")
def ran(suite, environment):
    return run(suite, environment, "--nammd-report", "pages/of-tests", "--junit-xml", "junit.xml")


def test_only_what_is_not_close_fails_and_says_why(ran):
    assert "1 failed, 6 passed" in ran.stdout
    assert "AssertionError: FAR: the candidate is beyond the tolerance" in ran.stdout
    assert "gates.py" not in ran.stdout  # the traceback ends in the test
    assert ran.returncode == 1


def test_the_checks_are_counted_at_the_end(ran):
    assert "7 checks of datasets: 1 ERROR, 2 FAR, 2 UNDECIDED, 2 CLOSE" in ran.stdout


def test_every_check_has_a_page_and_the_index_leads_to_it(ran, suite):
    folder = suite / "pages" / "of-tests"
    index = (folder / "index.html").read_text()
    pages = [path for path in folder.iterdir() if path.name != "index.html"]
    assert len(pages) == 6
    for page in pages:
        assert f'href="{page.name}"' in index
    assert "today" in index
    assert wrapped("test_data.py::test_candidates[far]") in index
    assert str(folder / "index.html") in ran.stdout


def test_junit_files_have_the_checks_as_properties(ran, suite):
    found = {}
    for case in ElementTree.parse(suite / "junit.xml").getroot().iter("testcase"):
        values = [json.loads(p.get("value")) for p in case.iter("property") if p.get("name") == "nammd"]
        found[case.get("name")] = [row["decision"] for row in values]
    assert found["test_candidates[close]"] == ["CLOSE"]
    assert found["test_candidates[far]"] == ["FAR"]
    assert found["test_unreadable"] == ["ERROR"]
    assert found["test_nothing_to_do_with_datasets"] == []


def test_without_the_option_nothing_is_written_and_paths_begin_at_the_root_of_the_tests(suite, environment):
    folder = suite / "below"
    folder.mkdir()
    (folder / "test_below.py").write_text(
        "def test_it(nammd_gate):\n    nammd_gate().assert_close('close.npy')\n"
    )
    before = files_of(suite)
    ran = run(folder, environment, "-q", "-c", "../pytest.ini", "--rootdir", "..")
    assert ran.returncode == 0
    assert "1 check of datasets: 1 CLOSE" in ran.stdout
    assert files_of(suite) == before


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)


def test_a_suite_without_datasets_does_not_wait_for_nammd(tmp_path, environment):
    (tmp_path / "test_other.py").write_text(
        "import sys\n\n\ndef test_it():\n    assert 'pytest_nammd' in sys.modules\n"
        "    assert 'nammd' not in sys.modules\n    assert 'numpy' not in sys.modules\n"
    )
    ran = run(tmp_path, environment, "-q")
    assert ran.returncode == 0, ran.stdout
    assert "nammd" not in ran.stdout


def test_what_is_missing_is_named(tmp_path, environment):
    (tmp_path / "test_it.py").write_text("def test_it(nammd_gate):\n    nammd_gate()\n")
    assert "nammd_gate needs a reference" in run(tmp_path, environment, "-q").stdout
