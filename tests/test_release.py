"""What is released: one version everywhere, bounds that pip can read, and documentation for each version."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import nammd

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    newest = re.search(
        r"^## \[(\d[^\]]*)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert cited["version"] == nammd.__version__ == newest[1]
    assert str(cited["date-released"]) == newest[2]


def test_the_citation_has_what_the_format_asks_for():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["license"] == PYPROJECT["project"]["license"]
    [paper] = cited["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert all({"family-names", "given-names"} <= set(author) for author in paper["authors"])


def test_the_oldest_versions_are_the_lower_bounds_of_the_project():
    constraints = loaded(ROOT / ".ci" / "constraints.py")
    core = constraints.oldest([])
    more = constraints.oldest(["app", "monitor"])
    assert [line.split("==")[0] for line in core] == [
        "array-api-compat",
        "narwhals",
        "numpy",
        "scipy",
        "threadpoolctl",
    ]
    assert set(core) < set(more)
    assert {"typer", "starlette"} <= {line.split("==")[0] for line in more}
    assert "numpy==2.1" in core


def test_every_supported_python_is_declared_and_in_the_matrix():
    declared = {
        line.rsplit(" ", 1)[1]
        for line in PYPROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", line)
    }
    assert f"pythons=({' '.join(sorted(declared))})" in (ROOT / ".ci" / "matrix").read_text("utf-8")
    assert PYPROJECT["project"]["requires-python"] == f">={min(declared)}"
    assert "Typing :: Typed" in PYPROJECT["project"]["classifiers"]


@pytest.mark.parametrize("script", ["matrix", "run", "smoke"])
def test_scripts_can_be_read_by_the_shell_and_run(script):
    path = ROOT / ".ci" / script
    assert path.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", path], capture_output=True).stderr == b""


def test_the_newest_release_of_the_documentation_is_the_one_that_opens(tmp_path):
    versions = loaded(ROOT / "docs" / "_ext" / "versions.py")
    for name in ("0.2.0", "0.10.0", "0.11.0rc1", "_static"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.html").write_text(name)
    (tmp_path / "0.9.0").mkdir()  # begun, and not finished
    assert versions.versions(tmp_path) == ["0.11.0rc1", "0.10.0", "0.2.0"]
    assert versions.write(tmp_path) == "0.10.0"
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()
    listed = (tmp_path / "versions.html").read_text()
    assert re.findall(r'href="([^"]*)/index.html"', listed) == ["0.11.0rc1", "0.10.0", "0.2.0"]


def test_documentation_that_is_not_built_is_an_error(tmp_path):
    versions = loaded(ROOT / "docs" / "_ext" / "versions.py")
    with pytest.raises(SystemExit, match="make docs"):
        versions.write(tmp_path)
