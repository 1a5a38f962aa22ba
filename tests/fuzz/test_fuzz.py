"""A short run of hostile inputs, the same each time, and everything that was ever found."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz import run as running
from tests.fuzz.kills import kills
from tests.fuzz.mutate import WAYS, mutated
from tests.fuzz.rules import Finding, refusing
from tests.fuzz.trials import CORPUS, TRIALS
from tests.waiting import GUARD

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and signals of POSIX")


def test_hostile_inputs_are_answered_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "TIME_LIMIT", GUARD)  # how quick the machine is, is not the question here
    # Those that were found once are before the first; another process would begin with imports of its own.
    outcome = running.run(seed=12, start=-len(CORPUS), inputs=800 + len(CORPUS))
    assert outcome.findings == []
    assert len(CORPUS) >= 30
    assert [outcome.tried.pop(path.name) for path in CORPUS] == [1] * len(CORPUS)
    assert outcome.tried.total() == 800
    assert set(outcome.tried) == {trial.__name__ for trial, _ in TRIALS}
    assert outcome.table().count("\n") == 2 + len(TRIALS)
    assert "| in all | 800 | 0 |" in outcome.table()


def test_a_long_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fuzz import __main__ as program

    tried: list[int] = []

    def count(seed: int, start: int, inputs: int, *, jobs: int) -> running.Outcome:
        tried.extend(range(start, start + inputs))
        return running.Outcome(Counter({"array_file": inputs}), [])

    monkeypatch.setattr(program, "run", count)
    record = str(tmp_path / "record.json")
    for inputs in ("30000", "30000", "45000"):
        monkeypatch.setattr(
            sys, "argv", ["fuzz", "--inputs", inputs, "--start", "7", "--kills", "0", "--record", record]
        )
        assert program.main() == 0
    assert tried == list(range(7, 45_007))
    monkeypatch.setattr(sys, "argv", ["fuzz", "--seed", "1", "--record", record])
    with pytest.raises(SystemExit, match="another --seed or --start"):
        program.main()


def test_writers_that_are_killed_while_they_write_leave_whole_files(on_disk: Path) -> None:
    counts = kills(20, on_disk)
    assert counts["monitor, while writing"] >= 10
    assert counts["file, while writing"] >= 10


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ZeroDivisionError("x"), "no refusal but ZeroDivisionError"),
        (ValueError("some file is damaged"), "names none of"),
        (ValueError("x.csv " + "long " * 1000), "no sentence"),
    ],
)
def test_the_rules_find_what_breaks_them(error: Exception, words: str) -> None:
    with pytest.raises(Finding, match=words), refusing("x.csv"):
        raise error


def test_a_process_that_dies_or_hangs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, sys; print('{\"start\": %s}' % sys.argv[1], flush=True); os.abort()"
    real = subprocess.Popen

    def dying(command, **options):  # type: ignore[no-untyped-def]
        return real([sys.executable, "-c", program, command[-3]], **options)

    monkeypatch.setattr(subprocess, "Popen", dying)
    found = running.run(seed=0, start=7, inputs=2, jobs=2).findings
    assert [each["number"] for each in found] == [7, 8]
    assert all("the process ended with -6" in each["finding"] for each in found)


@pytest.mark.parametrize("way", sorted(set(WAYS), key=lambda way: way.__name__))
def test_every_way_changes_bytes_and_can_be_repeated(way) -> None:  # type: ignore[no-untyped-def]
    data = bytes(range(256)) * 8
    results = [way(np.random.default_rng(k), data) for k in range(20)]
    assert results == [way(np.random.default_rng(k), data) for k in range(20)]
    assert any(result != data for result in results)


def test_an_input_follows_from_its_number() -> None:
    one, other = (mutated(np.random.default_rng([3, 4]), b"abc" * 99) for _ in range(2))
    assert one == other
