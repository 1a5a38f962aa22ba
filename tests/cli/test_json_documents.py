"""Every document that ``--json`` prints is one that its JSON Schema in the docs describes."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator
from pyarrow import parquet
from referencing import Registry, Resource

from nammd import __version__
from nammd.cli import main
from nammd.cli.app import parser
from tests.cli.conftest import people

PATHS = sorted((Path(__file__).parents[2] / "docs" / "json").glob("*.schema.json"))
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text("utf-8")) for path in PATHS}
REGISTRY = Registry().with_resources(
    (f"{name}.schema.json", Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)

SETUP = [
    "calibrate reference.parquet accepted.parquet --margin missing=0.2 -o tolerance.json",
    "calibrate reference.parquet --margin noise=0.4 --group customer -o grouped.json",
    "sketch reference.parquet -o reference.sketch -t tolerance.json --n-features 128",
    "sketch far.parquet -o far.sketch -t tolerance.json --n-features 128",
    "monitor init days.monitor -r reference.parquet -t tolerance.json",
    "monitor init few.monitor -r reference.parquet -t tolerance.json",
    "monitor add few.monitor 2026-03-01.parquet",
]
"""What cases find in their folder."""

CASES = [
    (0, "calibrate reference.parquet accepted.parquet --ball --anyway -o ball.json"),
    (0, "calibrate reference.parquet --split -o split.json --exclude customer"),
    (0, "calibrate x.npy --noise 0.5 --anyway -o noise.json"),
    (2, "calibrate gone.parquet -o gone.json"),
    (0, "accept tolerance.json close.parquet --reason why"),
    (2, "accept tolerance.json gone.parquet"),
    (0, "check x.npy y.npy -e 0.2"),
    (3, "check reference.parquet close.parquet -t tolerance.json"),
    (1, "check reference.parquet far.parquet -t tolerance.json"),
    (1, "check reference.parquet unpaired.parquet -t tolerance.json"),
    (3, "check reference.parquet reference.parquet -t tolerance.json"),
    (3, "check reference.parquet close.parquet -t grouped.json"),
    (1, "check reference.sketch far.sketch -t tolerance.json"),
    (3, "check x.npy y.npy -e 0.002 --sample 100"),
    (2, "check reference.parquet close.parquet far.parquet gone.parquet -t tolerance.json --adjust holm"),
    (2, "check x.npy gone.npy -e 0.05"),
    (2, "check gone.npy y.npy z.npy -e 0.05"),
    (2, "check x.npy y.npy"),
    (2, "check x.npy y.npy --colour"),
    (0, "distance x.npy y.npy --scales all"),
    (0, "distance reference.parquet far.parquet --group customer"),
    (0, "distance reference.sketch far.sketch"),
    (2, "distance x.npy gone.npy"),
    (0, "test x.npy z.npy"),
    (0, "test x.npy z.npy --method me-mabid"),
    (0, "test reference.parquet far.parquet --group customer --permutations 99"),
    (2, "test x.npy gone.npy"),
    (0, "compare x.npy y.npy z.npy"),
    (2, "compare x.npy gone.npy z.npy"),
    (0, "rank x.npy y.npy z.npy"),
    (2, "rank x.npy gone.npy"),
    (0, "plan x.npy z.npy -e 0.05"),
    (0, "plan x.npy z.npy -e 0.05 --distance 0.0499"),
    (0, "plan reference.parquet far.parquet -e 0.05 --group customer --rows 100"),
    (2, "plan x.npy gone.npy -e 0.05"),
    (0, "copies x.npy y.npy"),
    (2, "copies x.npy gone.npy"),
    (0, "sketch reference.parquet -o grouped.sketch -t grouped.json --n-features 128"),
    (2, "sketch gone.npy -o gone.sketch -t tolerance.json"),
    (0, "monitor init new.monitor -r reference.parquet -t tolerance.json"),
    (2, "monitor init gone.monitor -r gone.parquet -t tolerance.json"),
    (0, "monitor add days.monitor 2026-03-01.parquet"),
    (2, "monitor add days.monitor 2026-03-02.parquet 2026-03-03.parquet 2026-03-04.parquet"),
    (2, "monitor add days.monitor gone.parquet --key 2026-03-09"),
    (0, "monitor status few.monitor --now 2026-03-01"),
    (1, "monitor status few.monitor --now 2026-03-09"),
    (2, "monitor status gone.monitor"),
    (0, "monitor page few.monitor -o page.html"),
    (2, "monitor page gone.monitor -o page.html"),
    (0, "monitor repair few.monitor"),
    (2, "monitor repair gone.monitor"),
    (0, "demo"),
    (2, "demo --keep reference.parquet"),
]
"""Exit codes, and commands."""


def customers(table: pa.Table) -> pa.Table:
    return table.append_column("customer", pa.array([f"c{k // 5}" for k in range(len(table))]))


def unpaired(table: pa.Table) -> pa.Table:
    """Return a table whose columns have the same values, and no longer go together."""
    order = np.random.default_rng(0).permutation(len(table))
    return table.set_column(table.column_names.index("net"), "net", table["net"].take(order))


def with_net(table: pa.Table) -> pa.Table:
    return table.append_column("net", pa.array(np.round(0.8 * table["age"].to_numpy() + 3, 1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("documents")
    for name, older in {"reference": 0.0, "accepted": 0.5, "close": 0.1, "far": 2.0}.items():
        parquet.write_table(with_net(customers(people(len(name), older))), found / f"{name}.parquet")
    parquet.write_table(unpaired(with_net(customers(people(3)))), found / "unpaired.parquet")
    for day, older in enumerate((0.1, 0.1, 2.0), 1):
        parquet.write_table(with_net(customers(people(20 + day, older))), found / f"2026-03-0{day}.parquet")
    rng = np.random.default_rng(0)
    for name, location in {"x": 0.0, "y": 0.1, "z": 1.0}.items():
        np.save(found / f"{name}.npy", rng.normal(location, size=(200, 2)))
    with pytest.MonkeyPatch.context() as inside, contextlib.redirect_stdout(io.StringIO()):
        inside.chdir(found)
        for command in SETUP:
            assert main(command.split()) in (0, 3), command
    return found


def errors_of(document):
    """Return why a document is not one that its schema describes."""
    schema = SCHEMAS[document["schema"].split("/")[1]]
    validator = Draft202012Validator(schema, registry=REGISTRY)
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize(("code", "command"), CASES, ids=[command for _, command in CASES])
def test_a_document_is_as_its_schema_says(folder, nammd, monkeypatch, tmp_path, code, command):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # docs/cli/demo.md has all rows of the demo, and tests/cli/test_demo.py its report.
    monkeypatch.setattr("nammd.cli.demo.ROWS", 1200)
    monkeypatch.setattr("nammd.report.write_report", lambda verdict, path, **how: path.write_text(""))
    ran = nammd(*command.split(), "--json")
    found = ran.json
    assert ran.code == code, ran.err
    assert (found["exit_code"], found["nammd"]) == (code, __version__)
    assert command.startswith(found["command"])
    assert errors_of(found) == []
    if "steps" in found:  # those of the demo
        assert [step["exit_code"] for step in found["steps"]] == [0, 0, 1]
        assert found["steps"][2]["result"]["candidates"][0]["decision"] == "FAR"
        assert all(errors_of(step["result"]) == [] for step in found["steps"])
        assert found["folder"].startswith(str(tmp_path))
        assert ran.err == ""
    # It would not say so of another document.
    assert errors_of(found | {"unknown": 1})
    for entry in found.get("candidates", ()):
        assert errors_of(found | {"candidates": [entry | {"unknown": 1}]})
        assert errors_of(found | {"candidates": [entry | {"decision": "PERHAPS"}]})
    for name in ("nammd", "command", "exit_code", "notes", "inputs", "candidates"):
        assert name not in found or errors_of({k: v for k, v in found.items() if k != name}), name


def commands(group=None, before=""):
    """Return all commands with ``--json``, by their names."""
    for name, command in (group or parser()).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        elif any("--json" in parameter.opts for parameter in command.params):
            yield f"{before}{name}"


def test_every_command_with_json_has_a_schema_and_is_tried_with_and_without_an_error():
    known = set(commands())
    assert {name.replace(" ", "-") for name in known} | {"common"} == set(SCHEMAS)
    for name in known:
        codes = [code for code, command in CASES if command.startswith(f"{name} ") or command == name]
        assert 2 in codes, name
        assert set(codes) - {2}, name


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_and_describes_every_field(name):
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)

    def walk(node, name=""):
        if isinstance(node, dict):
            if node.get("type") == "object" and "properties" in node:
                for field, each in node["properties"].items():
                    assert "description" in each or "$ref" in each or "const" in each, field
                # Fields that several documents share are open, and closed where they are used.
                closed = node.get("additionalProperties", node.get("unevaluatedProperties"))
                assert closed is False or name.endswith("_fields")
            for inner, each in node.items():
                walk(each, inner)
        elif isinstance(node, list):
            for each in node:
                walk(each)

    walk(schema)
