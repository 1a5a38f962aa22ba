"""``--help`` teaches: what a command answers, an example, what the numbers mean, exit codes."""

import pytest

from nammd import __version__
from nammd.cli.app import app

COMMANDS = [command.name for command in app().registered_commands]

SHARED = [
    "columns",
    "exclude",
    "sample",
    "seed",
    "key",
    "features",
    "kernel",
    "bandwidth",
    "weights",
    "threads",
]


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    for name in ("COLUMNS", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, "150")


def test_there_are_as_many_commands_as_promised():
    assert COMMANDS == [
        "check",
        "calibrate",
        "accept",
        "sketch",
        "distance",
        "test",
        "compare",
        "rank",
        "plan",
        "copies",
        "demo",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_the_exit_codes(nammd, command):
    ran = nammd(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"nammd {command} " in ran.out.split("For example:")[1]
    assert "Exit codes: 0 " in ran.out
    assert "--json" in ran.out


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "demo"])
def test_commands_on_data_share_their_options(nammd, command):
    text = nammd(command, "-h").out
    for option in SHARED:
        assert f"--{option}" in text


def test_the_overview_names_every_command(nammd):
    ran = nammd("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert f" {command} " in ran.out
    assert "3 undecided" in ran.out


def test_no_command_at_all_shows_the_overview_and_is_an_error(nammd):
    ran = nammd()
    assert ran.code == 2
    assert "Guard a pipeline" in ran.out


def test_version(nammd):
    assert nammd("--version").out == f"nammd {__version__}\n"
