"""A verdict as a JUnit file, which CI systems show among the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from nammd.cli.printing import printable

if TYPE_CHECKING:
    from nammd.tolerances.verdict import Verdict


def junit_xml(verdict: Verdict, name: str, seconds: float, undecided_passes: bool) -> str:
    """Return a test suite of one test: passed if close, failed if far.

    Parameters
    ----------
    verdict : Verdict
        The outcome of the check.
    name : str
        The name of the test.
    seconds : float
        How long it took.
    undecided_passes : bool
        Whether an undecided check counts as skipped, or else as failed.

    Returns
    -------
    str
        The XML document.
    """
    skipped = not verdict.is_close and not verdict.is_far and undecided_passes and not verdict.failures
    failed = not verdict.passed and not skipped
    counts = {"tests": "1", "failures": str(int(failed)), "errors": "0", "skipped": str(int(skipped))}
    time = f"{seconds:.3f}"
    suites = ElementTree.Element("testsuites", counts | {"name": "nammd", "time": time})
    suite = ElementTree.SubElement(suites, "testsuite", counts | {"name": "nammd", "time": time})
    case = ElementTree.SubElement(
        suite, "testcase", {"classname": "nammd.check", "name": printable(name), "time": time}
    )
    # XML cannot hold control characters, not even escaped.
    words, headline = printable(str(verdict)), printable(verdict.headline())
    if skipped:
        ElementTree.SubElement(case, "skipped", {"message": headline})
    if failed:
        kind = str(verdict.decision) if not verdict.is_close else "ALERT"
        failure = {"type": kind, "message": headline}
        ElementTree.SubElement(case, "failure", failure).text = words
    else:
        ElementTree.SubElement(case, "system-out").text = words
    ElementTree.indent(suites)
    # Through bytes: a declaration made for text names the encoding of the machine.
    document: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return document.decode() + "\n"
