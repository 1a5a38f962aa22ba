"""The GitHub action: its shell steps, run as they are written, as a runner does."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from pyarrow import parquet

from nammd.cli.demo import ACCEPTED, CLOSE, FAR, REFERENCE
from tests.integrations.conftest import ROOT
from tests.waiting import GUARD

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


class Runner:
    """A folder with a checked out repository, and what a runner gives to a step."""

    def __init__(self, folder, environment):
        self.folder, self.environment, self.ends = folder, environment, {}
        self.files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in self.files.values():
            path.write_text("")

    def run(self, **given):
        """Run the steps whose conditions hold, until one fails; return the code and the output."""
        inputs = {name: about.get("default", "") for name, about in ACTION["inputs"].items()} | given
        required = {name for name, about in ACTION["inputs"].items() if about.get("required")}
        assert required <= set(given)
        for step in ACTION["runs"]["steps"]:
            assert step["shell"] == "bash"
            condition = re.fullmatch(r"\$\{\{ inputs\.(\w+) != '(\w*)' \}\}", step.get("if", ""))
            if condition and inputs[condition[1]] == condition[2]:
                continue
            script = self.folder / "step.sh"
            script.write_text(step["run"])
            own = {k: filled(v, inputs) for k, v in step["env"].items()}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                cwd=self.folder,
                env=self.environment | own | {k: str(v) for k, v in self.files.items()},
                capture_output=True,
                text=True,
                timeout=GUARD,
            )
            if done.returncode:
                break
        return done.returncode, done.stdout + done.stderr

    @property
    def outputs(self):
        text, found = self.files["GITHUB_OUTPUT"].read_text(), {}
        while text:  # as a runner reads it: name<<DELIMITER, lines, DELIMITER
            head, _, text = text.partition("\n")
            name, _, end = head.partition("<<")
            assert re.fullmatch(r"end-[0-9a-f]{32}", end)
            assert end not in self.ends.setdefault(name, set())
            self.ends[name].add(end)
            found[name], _, text = text.partition(f"\n{end}\n")
        return found

    @property
    def summary(self):
        return self.files["GITHUB_STEP_SUMMARY"].read_text()


def filled(text, inputs):
    text = text.replace("${{ github.action_path }}", str(ROOT))
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)


@pytest.fixture
def runner(months, answered_here, tmp_path):
    shutil.copytree(months, tmp_path / "work")
    return Runner(tmp_path / "work", answered_here)


COMMON = {"reference": REFERENCE, "tolerance": "tolerance.json", "install": "none"}


def test_a_close_candidate_passes(runner, environment):
    runner.environment = environment  # with the real program
    code, told = runner.run(**COMMON, candidates=CLOSE)
    assert code == 0, told
    assert runner.outputs == {"verdict": "CLOSE", "exit-code": "0", "report": "nammd-report"}
    assert "### nammd check: CLOSE" in runner.summary
    assert "of the tolerance" in runner.summary
    assert "CLOSE" in (runner.folder / "nammd-report" / "index.html").read_text()


def test_patterns_on_lines_and_names_with_spaces_are_candidates(runner):
    shutil.copy(runner.folder / CLOSE, runner.folder / "a name; echo $(oops) `oops`.parquet")
    given = f"  {CLOSE}  \n\n2026-02-*.parquet\na name*\n{ACCEPTED}\n"
    code, told = runner.run(**COMMON, candidates=given, html="false", report="out/data")
    assert code == 1, told
    assert runner.outputs["verdict"] == "FAR"
    [suite] = ElementTree.parse(runner.folder / "out" / "data" / "junit.xml").getroot()
    assert suite.get("tests") == "4"
    assert [case.get("name").split(" is close")[0] for case in suite] == [
        CLOSE,
        FAR,
        "a name; echo $(oops) `oops`.parquet",
        ACCEPTED,
    ]
    assert not (runner.folder / "out" / "data" / "index.html").exists()


def test_one_error_rate_over_all_can_be_asked_for(runner):
    code, told = runner.run(**COMMON, candidates=f"{CLOSE}\n{FAR}", adjust="holm", report="pages")
    assert code == 1, told
    assert "Holm" in runner.summary
    assert "of 2 candidates" in (runner.folder / "pages" / "index.html").read_text()


def test_what_is_missing_is_an_error_that_a_pipeline_sees(runner):
    code, told = runner.run(**COMMON, candidates=f"{CLOSE}\nweek-*.parquet", html="false")
    assert code == 2
    assert "there is no file or folder 'week-*.parquet'" in told
    assert runner.outputs["verdict"] == "ERROR"
    assert "there is no file" in runner.summary
    [suite] = ElementTree.parse(runner.folder / "nammd-report" / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")


def test_undecided_fails_unless_told_otherwise(runner):
    few = parquet.read_table(runner.folder / CLOSE).slice(0, 25)  # too few to prove anything
    parquet.write_table(few, runner.folder / "few.parquet")
    assert runner.run(**COMMON, candidates="few.parquet", html="false")[0] == 1
    assert runner.run(**COMMON, candidates="few.parquet", html="false", undecided="ok")[0] == 0
    assert runner.outputs["verdict"] == "UNDECIDED"


@pytest.mark.parametrize("name", ["reference", "tolerance", "adjust", "report", "alpha", "fail-on", "group"])
def test_an_input_of_several_lines_is_refused(runner, name):
    given = COMMON | {"candidates": CLOSE, "html": "false", name: f"x\nverdict=CLOSE\n::warning::{name}"}
    code, told = runner.run(**given)
    assert code == 2
    assert "has more than one line; give one" in told
    require_no_commands(told)
    assert runner.outputs == {}


def require_no_commands(text):
    """Look for what a runner would obey."""
    assert not re.search(r"^\s*::|##\[", text, re.MULTILINE), text


def test_hostile_names_are_data(runner):
    """Neither options, nor commands to the runner, nor the end of a block of text."""
    names = [
        "--tolerance=evil.json.parquet",
        "-o.parquet",
        "::error file=x::hello.parquet",
        "##[command]x.parquet",
        "~~~~.parquet",
        "::set-output name=verdict::CLOSE.parquet",
        "$(touch oops).parquet",
        "2026-02-01T10:00.parquet",
    ]
    for name in names:
        shutil.copy(runner.folder / CLOSE, runner.folder / name)
    shutil.copy(runner.folder / "tolerance.json", runner.folder / "--tolerance.json")
    (runner.folder / "-x").mkdir()
    (runner.folder / "-x" / "verdict.txt").symlink_to(runner.folder / "victim")
    given = COMMON | {"tolerance": "--tolerance.json", "report": "-x", "html": "false"}
    code, told = runner.run(**given, candidates="\n".join(names))
    assert code == 0, told
    assert runner.outputs == {"verdict": "CLOSE", "exit-code": "0", "report": "-x"}
    require_no_commands(told)
    require_no_commands(runner.summary)
    assert runner.summary.count("~~~") == 2
    assert not (runner.folder / "oops").exists()
    assert not (runner.folder / "victim").exists()
    [suite] = ElementTree.parse(runner.folder / "-x" / "junit.xml").getroot()
    assert suite.get("tests") == str(len(names))


def test_other_options_are_inputs(runner):
    given = {"alpha": "0.01", "sample": "200", "fail-on": "new-categories"}
    code, told = runner.run(**COMMON, **given, candidates=CLOSE, html="false")
    assert "200 of 300 rows" in told
    assert "error rate 1 %" in told
    assert runner.run(**COMMON, candidates=CLOSE, html="false", alpha="2")[0] == 2
    assert "alpha" in runner.summary
    for name in ("group", "time"):
        code, told = runner.run(**COMMON, candidates=CLOSE, html="false", **{name: "nowhere"})
        assert code == 2
        assert "calibrate again with --group, --time" in told
    assert "--block" in runner.run(**COMMON, candidates=CLOSE, html="false", block="none")[1]


def test_no_password_is_in_a_summary(runner):
    address = "https://geheim:Zwiebel/7@127.0.0.1:9/x.csv?sig=Anfang"
    code, told = runner.run(**COMMON, candidates=address, html="false")
    assert code == 2
    written = [path.read_text() for path in (runner.folder / "nammd-report").iterdir()]
    for text in (told, runner.summary, *written):
        assert not re.search("geheim|zwiebel|anfang", text, re.IGNORECASE), text


def test_no_input_is_part_of_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]
        taken = {text for text in step["env"].values() if "inputs." in text}
        assert all(re.fullmatch(r"\$\{\{ inputs\.[\w-]+ \}\}", text) for text in taken)


def test_what_is_installed_is_this_version_unless_said_otherwise(tmp_path, environment):
    asked = tmp_path / "asked"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> "{asked}"\nexit 1\n')
    python.chmod(0o755)
    runner = Runner(tmp_path, environment | {"PATH": f"{tmp_path}:{environment['PATH']}"})
    for install in ("", "nammd[app]==1.2"):
        assert runner.run(**(COMMON | {"install": install}), candidates=CLOSE)[0] == 1
    first, second = (line.split()[-1] for line in asked.read_text().splitlines())
    assert first == f"{ROOT}[app]"
    assert second == "nammd[app]==1.2"
