"""Gates for tests: what `nammd_gate` returns."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nammd import Gate, Tolerance, Verdict
from nammd.errors.addresses import is_address, shown
from nammd.errors.checks import choice
from nammd.results.base import plain
from nammd.testing import UNDECIDED, require_close
from pytest_nammd import PROPERTY


@dataclass(frozen=True)
class Gates:
    """Makes gates for the checks of one test.

    Attributes
    ----------
    item : pytest.Item
        The test.
    root : Path
        Where relative paths begin.
    settings : dict
        The reference and the tolerance of the configuration.
    known : dict
        The gates of all tests so far.
    pages : Path or None
        Where reports are written.
    """

    item: Any
    root: Path
    settings: dict[str, str]
    known: dict[Any, tuple[Gate, Any, Any]] = field(repr=False)
    pages: Path | None

    def __call__(
        self,
        reference: Any = None,
        tolerance: Tolerance | str | Path | None = None,
        *,
        alpha: float = 0.05,
        undecided: str = "fail",
        **options: Any,
    ) -> TestedGate:
        """Return a gate; a reference that other tests have used is not read again.

        Parameters
        ----------
        reference : dataset, optional
            What candidates are compared with; by default ``nammd_reference`` of the configuration.
        tolerance : Tolerance or path, optional
            What close enough means; by default ``nammd_tolerance`` of the configuration.
        alpha : float
            The level of each of the two tests.
        undecided : {"fail", "pass"}
            What to do where the data do not settle it.
        **options
            Further options of `Gate.check`: `fail_on`, `allow`, `fact_share`, `joint_only`.

        Returns
        -------
        TestedGate
        """
        choice(undecided, "undecided", UNDECIDED)
        reference = self._setting("reference") if reference is None else self._placed(reference)
        tolerance = self._setting("tolerance") if tolerance is None else self._placed(tolerance)
        key = tuple(
            thing if isinstance(thing, (str, Path)) else id(thing) for thing in (reference, tolerance)
        )
        if key not in self.known:
            limit = tolerance if isinstance(tolerance, Tolerance) else Tolerance.load(tolerance)
            # With what it was made from: the id of an object is its own only as long as it lives.
            self.known[key] = limit.with_reference(reference), reference, tolerance
        return TestedGate(self, self.known[key][0], alpha, undecided, options)

    def _setting(self, name: str) -> Any:
        if not self.settings[name]:
            raise ValueError(
                f"nammd_gate needs a {name}: give it, as in nammd_gate(reference, tolerance), or set "
                f"nammd_{name} in the configuration of pytest"
            )
        return self._placed(self.settings[name])

    def _placed(self, thing: Any) -> Any:
        relative = isinstance(thing, (str, Path)) and not is_address(thing)
        return self.root / thing if relative else thing


@dataclass(frozen=True)
class TestedGate:
    """A gate whose checks are part of a test: they are noted, and may be asserted."""

    __test__ = False  # pytest collects what is called Test

    gates: Gates = field(repr=False)
    gate: Gate
    alpha: float
    undecided: str
    options: dict[str, Any] = field(default_factory=dict)

    def check(self, candidate: Any, name: str = "") -> Verdict:
        """Check a candidate, without an assertion.

        Parameters
        ----------
        candidate : dataset
            The data in question: a path, a table or an array.
        name : str
            What to call it in the report; by default its path, or the name of the test.

        Returns
        -------
        Verdict
        """
        placed = self.gates._placed(candidate)
        told = name or (shown(candidate) if isinstance(candidate, (str, Path)) else self.gates.item.name)
        try:
            verdict = self.gate.check(placed, self.alpha, **self.options)
        except Exception as error:
            self._note({"candidate": told, "decision": "ERROR", "reason": str(error)})
            raise
        self._note(self._row(told, verdict))
        return verdict

    def assert_close(self, candidate: Any, name: str = "") -> Verdict:
        """Assert that a candidate is close enough; the message of a failure is the verdict in words.

        Parameters
        ----------
        candidate : dataset
            The data in question.
        name : str
            What to call it in the report.

        Returns
        -------
        Verdict
        """
        __tracebackhide__ = True
        return require_close(self.check(candidate, name), self.undecided)

    def _row(self, name: str, verdict: Verdict) -> dict[str, Any]:
        row = {
            "candidate": name,
            "decision": str(verdict.decision),
            "distance": verdict.distance,
            "interval": tuple(verdict.confidence_interval()),
            "epsilon": verdict.epsilon,
            "pvalue_close": verdict.pvalue_close,
            "pvalue_far": verdict.pvalue_far,
            "reason": verdict.details.reason(),
        }
        page = self._page()
        if page is not None and verdict.estimate.evidence.y.keeps_rows:
            verdict.report(page)
            row["report"] = page.name
        return row

    def _page(self) -> Path | None:
        """Return the file of the next report; no two tests write the same."""
        folder, item = self.gates.pages, self.gates.item
        if folder is None:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        number = sum(key == PROPERTY for key, _ in item.user_properties) + 1
        digest = hashlib.sha256(item.nodeid.encode()).hexdigest()[:8]
        slug = re.sub(r"[^A-Za-z0-9]+", "-", item.name).strip("-")[:60]
        return folder / f"{slug}-{digest}-{number}.html"

    def _note(self, row: dict[str, Any]) -> None:
        self.gates.item.user_properties.append((PROPERTY, json.dumps(plain(row), ensure_ascii=False)))
