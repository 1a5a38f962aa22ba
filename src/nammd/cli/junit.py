"""Verdicts as a JUnit file, which CI systems show among the tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from nammd.cli.printing import printable

if TYPE_CHECKING:
    from nammd.tolerances.verdict import Verdict

_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


@dataclass(frozen=True)
class Case:
    """One test of a suite.

    Attributes
    ----------
    name : str
        What is tested.
    outcome : {"passed", "failure", "error", "skipped"}
        What it came to.
    kind, message : str
        Of what did not pass: a word, and a sentence.
    words : str
        The whole story.
    seconds : float
        How long it took.
    """

    name: str
    outcome: Literal["passed", "failure", "error", "skipped"]
    kind: str
    message: str
    words: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, verdict: Verdict, name: str, seconds: float, undecided_passes: bool) -> Case:
        """Return the test of a verdict: passed if close, failed if far, else as was asked for."""
        tolerated = undecided_passes and not verdict.is_far and not verdict.failures
        outcome: Literal["passed", "skipped", "failure"] = (
            "passed" if verdict.is_close else "skipped" if tolerated else "failure"
        )
        return cls(name, outcome, str(verdict.decision), verdict.headline(), str(verdict), seconds)


def case_name(candidate: object, reference: object) -> str:
    """Return what is tested."""
    return f"{candidate} is close enough to {reference}"


def junit_xml(cases: Sequence[Case]) -> str:
    """Return a test suite of some tests, as an XML document."""
    counts = {"tests": str(len(cases))} | {
        attribute: str(sum(case.outcome == outcome for case in cases))
        for attribute, outcome in _COUNTED.items()
    }
    whole = counts | {"name": "nammd", "time": f"{sum(case.seconds for case in cases):.3f}"}
    suites = ElementTree.Element("testsuites", whole)
    suite = ElementTree.SubElement(suites, "testsuite", whole)
    for case in cases:
        _add(suite, case)
    ElementTree.indent(suites)
    # Through bytes: a declaration made for text names the encoding of the machine.
    document: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"


def _add(suite: ElementTree.Element, case: Case) -> None:
    # XML cannot hold control characters, not even escaped.
    words, message = printable(case.words), printable(case.message)
    attributes = {"classname": "nammd.check", "name": printable(case.name), "time": f"{case.seconds:.3f}"}
    element = ElementTree.SubElement(suite, "testcase", attributes)
    if case.outcome == "skipped":
        ElementTree.SubElement(element, "skipped", {"message": message})
    if case.outcome in ("failure", "error"):
        told = {"type": case.kind, "message": message}
        ElementTree.SubElement(element, case.outcome, told).text = words
    else:
        ElementTree.SubElement(element, "system-out").text = words
