"""A pytest plugin: the fixture ``nammd_gate``, and ``--nammd-report DIR``.

It stands beside the package, and imports it when a test asks for a gate: pytest loads every plugin that is
installed, and a test suite that has nothing to do with datasets must not wait for NumPy.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PROPERTY = "nammd"
"""The name under which a check is a property of its test, also in JUnit files."""

_gates = pytest.StashKey[dict[Any, Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option, and the settings of the configuration file."""
    group = parser.getgroup("nammd", "are datasets close enough?")
    group.addoption(
        "--nammd-report",
        metavar="DIR",
        default=None,
        help="write a page for every check of a dataset to this folder, with an index",
    )
    parser.addini("nammd_reference", "the reference that nammd_gate() compares with")
    parser.addini("nammd_tolerance", "the tolerance file of nammd_gate()")


def pytest_configure(config: pytest.Config) -> None:
    """Make room for what the tests will find."""
    config.stash[_gates] = {}
    config.pluginmanager.register(Checks(config), "nammd-checks")


class Checks:
    """The checks of a test run, wherever its tests run: they come as properties of the tests.

    Attributes
    ----------
    found : dict of str to list
        What was checked, by test.
    folder : Path or None
        Where reports are written.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.found: dict[str, list[dict[str, Any]]] = {}
        self.folder = report_folder(config)
        self.written: Path | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the checks of a test."""
        rows = [json.loads(str(value)) for name, value in report.user_properties if name == PROPERTY]
        if rows:
            self.found[report.nodeid] = rows

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the index, once for all processes."""
        if self.found and self.folder is not None and not hasattr(session.config, "workerinput"):
            from pytest_nammd.index import write

            self.written = write(self.found, self.folder)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say what the checks came to."""
        if not self.found:
            return
        from pytest_nammd.index import summary

        terminalreporter.section("nammd")
        terminalreporter.write_line(summary([row for rows in self.found.values() for row in rows]))
        if self.written is not None:
            terminalreporter.write_line(f"report: {self.written}")


def report_folder(config: pytest.Config) -> Path | None:
    """Return where reports are written, if they are asked for."""
    folder = config.getoption("--nammd-report")
    return None if folder is None else config.invocation_params.dir / folder


@pytest.fixture
def nammd_gate(request: pytest.FixtureRequest) -> Any:
    """Return a function that makes gates: ``nammd_gate(reference, tolerance).assert_close(candidate)``.

    A relative path is looked for from the root of the tests. A reference is read and summed once for all
    tests. Both may be left out where the configuration has ``nammd_reference`` and ``nammd_tolerance``.
    """
    from pytest_nammd.gates import Gates

    config = request.config
    settings = {name: str(config.getini(f"nammd_{name}") or "") for name in ("reference", "tolerance")}
    return Gates(request.node, config.rootpath, settings, config.stash[_gates], report_folder(config))
