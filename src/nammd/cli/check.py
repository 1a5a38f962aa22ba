"""``nammd check`` tells whether a candidate is close enough to the reference."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nammd.cli.columns import Allow, FactShareOption, FailOn, JointOnly, NegligibleOption, facts, negligible
from nammd.cli.command_line import command_again
from nammd.cli.computing import engine_of
from nammd.cli.data import Told, open_files
from nammd.cli.errors import ERROR
from nammd.cli.junit import Case, case_name, junit_xml
from nammd.cli.many import Candidates, worst_code
from nammd.cli.options import (
    Alpha,
    DataOptions,
    Exact,
    KernelOptions,
    OutputOptions,
    ToleranceFile,
    require_shares,
)
from nammd.cli.output import (
    found,
    print_json,
    print_line,
    refuse_overwriting,
    require_folder,
    require_new_folder,
    tell,
)
from nammd.cli.paths import given, place
from nammd.cli.progress import Working
from nammd.errors.addresses import shown

if TYPE_CHECKING:
    from nammd.cli.data import Inputs
    from nammd.monitor import BatchVerdict
    from nammd.spaces import Space
    from nammd.tolerances.tolerance import Tolerance
    from nammd.tolerances.verdict import Verdict
    from nammd.tolerances.verdicts import Checked

CLOSE, FAR, UNDECIDED = 0, 1, 3


class Undecided(StrEnum):
    """What an undecided check counts as."""

    ok = "ok"
    fail = "fail"


class Adjust(StrEnum):
    """How p-values are adjusted for the number of candidates."""

    none = "none"
    holm = "holm"


def check(
    reference: Annotated[
        Path,
        typer.Argument(parser=place, metavar="REFERENCE", help="The data that others are compared with."),
    ],
    candidates: Annotated[
        list[Path],
        typer.Argument(parser=place, metavar="CANDIDATE...", help="The data in question; one or several."),
    ],
    tolerance: ToleranceFile = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="The tolerance as a number: the largest acceptable NAMMD."),
    ] = None,
    alpha: Alpha = 0.05,
    allowed: NegligibleOption = None,
    joint_only: JointOnly = False,
    fail_on: FailOn = None,
    allow: Allow = None,
    fact_share: FactShareOption = None,
    undecided: Annotated[
        Undecided | None,
        typer.Option(help="Let an undecided check exit with 0 (ok) or 1 (fail) instead of 3."),
    ] = None,
    adjust: Annotated[
        Adjust,
        typer.Option(
            help="With several candidates: 'holm' keeps --alpha for all of them together, not for each."
        ),
    ] = Adjust.none,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a report with pictures: where do they differ? With several candidates, a folder "
            "with an index and a page for each.",
        ),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a JUnit file, which CI systems show among the tests."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Explain the verdict and the exit code.")
    ] = False,
    exact: Exact = False,
    *,
    data: DataOptions,
    kernel: KernelOptions,
    output: OutputOptions,
) -> None:
    """Tell whether CANDIDATE is close enough to REFERENCE.

    For example:
        nammd check train.parquet today.parquet --tolerance tolerance.json
        nammd check train.csv today.csv -t tolerance.json --html report.html
        nammd check train.parquet week-*.parquet -t tolerance.json --adjust holm

    There are three answers. CLOSE: it is proven that the distance is within the tolerance, and no fact
    speaks against it. FAR: it is proven that it is beyond, or that a single column is beyond its own
    tolerance, or that two columns no longer go together, or a fact says so. UNDECIDED: these rows prove
    neither; the answer then says how many rows are needed. Each proof is wrong with a probability of at most
    --alpha. The answer says in words what changed.

    Facts are counted, and need no test: categories that REFERENCE never has, values outside its range, rows
    that are there twice. One counts from 1 % of the rows on, or where it is about a whole column; see
    --fail-on, --allow and --fact-share. Copies of REFERENCE are UNDECIDED: they prove nothing.

    The distance is the NAMMD, from 0 (equal distributions) to 1. Its 95 % interval says how well these
    rows determine it. A tolerance file from 'nammd calibrate' fixes what the distance means, once and for
    all checks; with --epsilon the scaling and the kernel are taken from REFERENCE each time, and columns have
    tolerances of their own only with --negligible.

    With several candidates REFERENCE is read once, and a table has a line for each of them. Each is then
    wrong with a probability of at most --alpha; with --adjust holm that is the probability that any of
    those called CLOSE is wrong, and any of those called FAR.

    Instead of data all may be sketches of them, from 'nammd sketch' with the same tolerance file.

    Exit codes: 0 close, 1 far, 3 undecided (see --undecided), 2 error; of several, the worst:
    error, far, undecided, close.
    """
    if (tolerance is None) == (epsilon is None):
        raise ValueError(
            "say what is close enough with either --tolerance FILE (see 'nammd calibrate') or "
            "--epsilon NUMBER" + (", not with both" if epsilon is not None else "")
        )
    twice = [path for path, times in Counter(map(given, candidates)).items() if times > 1]
    if twice:
        raise ValueError(f"{shown(twice[0])!r} is given twice; name each candidate once")
    require_shares(epsilon=epsilon, alpha=alpha)
    if allowed is not None and tolerance is not None:
        raise ValueError("--negligible goes with --epsilon; a tolerance file has what is negligible in it")
    columns = {"joint_only": joint_only, **facts(fail_on, allow, fact_share)}
    several = len(candidates) > 1
    require_folder(junit, None if several else html)
    if several and html is not None:
        require_new_folder(html)
    refuse_overwriting([html, junit], [reference, *candidates, tolerance])
    asked = _Asked(
        reference,
        tuple(candidates),
        tolerance,
        epsilon,
        alpha,
        adjust,
        undecided,
        html,
        junit,
        allowed,
        columns,
        exact,
    )
    code = (_check_many if several else _check_one)(asked, verbose, data, kernel, output)
    raise typer.Exit(code)


@dataclass(frozen=True)
class _Asked:
    """What was asked for, apart from how data are read and what is printed."""

    reference: Path
    candidates: tuple[Path, ...]
    tolerance: Path | None
    epsilon: float | None
    alpha: float
    adjust: Adjust
    undecided: Undecided | None
    html: Path | None
    junit: Path | None
    allowed: list[str] | None
    columns: dict[str, Any]
    exact: bool

    def limit(self, inputs: Inputs) -> tuple[Tolerance, Space | None]:
        """Return the tolerance, and the space of the distances."""
        if self.html is not None:
            inputs.require_rows("--html")
        if inputs.sketches and (self.tolerance is None or self.html is not None):
            raise ValueError(_not_for_sketches(self.html))
        space = inputs.space(reference=True)
        if inputs.tolerance is not None:
            return inputs.tolerance, space
        from nammd.tolerances.tolerance import Tolerance

        assert self.epsilon is not None
        allowed = self.allowed is not None and negligible(self.allowed)
        return Tolerance.at(self.epsilon, space=space, negligible=allowed), space

    def case(self, verdict: Verdict, candidate: object, seconds: float) -> Case:
        """Return a test for a JUnit file."""
        name = case_name(candidate, self.reference)
        return Case.of(verdict, name, seconds, self.undecided is Undecided.ok)

    def code(self, entry: Checked) -> int:
        """Return the exit code of one of several candidates."""
        return ERROR if entry.verdict is None else exit_code(entry.verdict, self.undecided)


def _check_one(
    asked: _Asked, verbose: bool, data: DataOptions, kernel: KernelOptions, output: OutputOptions
) -> int:
    [candidate] = asked.candidates
    started = time.perf_counter()
    with Working(quiet=output.json) as working:
        paths = [("reference", asked.reference), ("candidate", candidate)]
        inputs = open_files(paths, asked.tolerance, data, kernel, working)
        limit, space = asked.limit(inputs)
        working.step("Comparing")
        x, y = inputs.datasets
        engine = engine_of(kernel, working, inputs)
        verdict = limit.check(x, y, asked.alpha, **asked.columns, exact=asked.exact, engine=engine)
        seconds = time.perf_counter() - started
        if asked.html is not None:
            from nammd.report import write_report

            part = working.part("Writing the report")
            write_report(verdict, asked.html, progress=part, command=command_again())
        if asked.junit is not None:
            from nammd.errors.writing import write_text

            write_text(asked.junit, junit_xml([asked.case(verdict, candidate, seconds)]))
    code = exit_code(verdict, asked.undecided)
    rows = [("report", str(asked.html))] if asked.html is not None else []
    told = Told(inputs, space)
    if output.json:
        entry = {"candidate": str(candidate), **found(verdict, told), "exit_code": code}
        print_json("check", {"candidates": [entry]}, code)
        return code
    tell(verdict, told, rows)
    if verbose:
        print_line(f"  {verdict.details.meaning()} Exit code {code}.")
    return code


def _check_many(
    asked: _Asked, verbose: bool, data: DataOptions, kernel: KernelOptions, output: OutputOptions
) -> int:
    adjust: Literal["none", "holm"] = "holm" if asked.adjust is Adjust.holm else "none"
    index = None
    with Working(quiet=output.json) as working:
        inputs = open_files([("reference", asked.reference)], asked.tolerance, data, kernel, working)
        limit, space = asked.limit(inputs)
        engine = engine_of(kernel, working, inputs)
        gate = limit.with_reference(inputs.datasets[0], exact=asked.exact, engine=engine)
        candidates = Candidates(asked.candidates, inputs, data, kernel)
        verdicts = candidates.check(gate, asked.alpha, adjust, working, asked.columns)
        if asked.html is not None:
            from nammd.report import write_index

            index = write_index(verdicts, asked.html, lambda name: working.part(f"Writing {name}"))
        if asked.junit is not None:
            from nammd.errors.writing import write_text

            write_text(asked.junit, junit_xml([_case(asked, entry) for entry in verdicts]))
    code = worst_code([asked.code(entry) for entry in verdicts])
    if output.json:
        candidates.print_for_programs(verdicts, space, asked.code)
        return code
    candidates.print_for_people(verdicts, space, index)
    if verbose:
        print_line(f"  The worst is {verdicts.worst.name}: {verdicts.worst.word}. Exit code {code}.")
    return code


def _case(asked: _Asked, entry: Checked) -> Case:
    """Return the test of one of several candidates."""
    if entry.verdict is not None:
        return asked.case(entry.verdict, entry.name, entry.seconds)
    kind, name = type(entry.error).__name__, case_name(entry.name, asked.reference)
    return Case(name, "error", kind, entry.reason, seconds=entry.seconds)


def exit_code(verdict: Verdict | BatchVerdict, undecided: Undecided | None) -> int:
    """Return the exit code of a verdict."""
    if verdict.is_close:
        return CLOSE
    if verdict.is_far or undecided is Undecided.fail:
        return FAR
    # More rows would not help where a fact says that nothing is proven: that is never all right by itself.
    return CLOSE if undecided is Undecided.ok and not verdict.failures else UNDECIDED


def _not_for_sketches(html: Path | None) -> str:
    if html is not None:
        return "a report shows rows, and sketches keep none; leave out --html, or check the data themselves"
    return "sketches are checked with the tolerance file that they were made with; give --tolerance FILE"
