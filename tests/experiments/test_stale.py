"""No kept result is of other code, or of other settings, than there are now."""

import dataclasses

import numpy as np
import pytest
from experiments.__main__ import main
from experiments.registry import named
from experiments.results import FOLDER, load, plain, save
from experiments.stale import Kept, advice, kept_files, stale_files

FILES = kept_files()


@pytest.mark.parametrize("kept", FILES, ids=lambda kept: kept.path.name)
def test_no_result_is_stale(kept):
    if why := kept.reasons():
        pytest.fail(advice(kept, why), pytrace=False)


def test_every_file_belongs_to_an_experiment():
    assert {kept.path for kept in FILES} == set(FOLDER.glob("*.json"))


@pytest.fixture
def folder(tmp_path):
    """A folder with one kept result."""
    experiment = named("limitations")
    save(experiment, load(experiment, "quick"), tmp_path)
    return tmp_path


def alter(folder, **changes):
    experiment = named("limitations")
    results = load(experiment, "quick", folder)
    save(experiment, dataclasses.replace(results, **changes), folder)
    [(kept, why)] = stale_files([experiment], folder).items()
    return kept, why


def test_saving_again_changes_nothing(folder):
    assert (folder / "limitations.json").read_bytes() == (FOLDER / "limitations.json").read_bytes()
    assert stale_files([named("limitations")], folder) == {}


def test_other_code_is_named_with_the_command(folder):
    stamp = load(named("limitations"), "quick", folder).stamp
    module = "experiments.paper.limitations"
    other = {**stamp.code, module: ("0123456789", *stamp.code[module][1:])}
    kept, why = alter(folder, stamp=dataclasses.replace(stamp, code=other))
    assert why == [module]
    assert advice(kept, why) == (
        f"limitations.json is stale ({module}); run: python -m experiments verify limitations"
    )


def test_a_file_without_a_stamp_is_stale(folder):
    assert alter(folder, stamp=None)[1] == ["nothing is noted of its code"]


def test_other_settings_need_a_run(folder):
    kept, why = alter(folder, seed=5)
    assert advice(kept, why).endswith("is stale (settings); run: python -m experiments run limitations")


def test_settings_changed_by_hand_are_noticed(folder):
    stamp = load(named("limitations"), "quick", folder).stamp
    assert alter(folder, stamp=dataclasses.replace(stamp, settings="0123456789"))[1] == ["settings"]


def test_commands_name_settings_and_seed():
    assert Kept(named("bounds"), "full", 2).options == "bounds --full --seed 2"


def test_the_pages_are_not_written_from_stale_results(folder, monkeypatch, capsys):
    kept = Kept(named("limitations"), "quick", None, folder)
    monkeypatch.setattr("experiments.__main__.stale_files", lambda *_: {kept: ["nammd.distance"]})
    monkeypatch.setattr("experiments.page.write", lambda: pytest.fail("written"))
    assert main(["page"]) == 1
    assert "run: python -m experiments verify limitations" in capsys.readouterr().err
    assert main(["stale"]) == 1


def test_how_generators_are_seeded_and_values_are_rounded_stays():
    """What no digest covers: every kept number depends on it."""
    generator = named("limitations").generator({"a": 1, "b": "x"})
    assert generator.integers(2**32) == 480321727
    assert plain({"a": np.float64(1 / 3), "b": (np.nan, 2)}) == {"a": 0.3333333333, "b": [None, 2]}
