"""What the page says of tolerances from the reference alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from experiments.calibration.cases import Sizes
from experiments.calibration.grid import ALPHA, ERRORS, noise
from experiments.results import Results
from experiments.section import table
from experiments.summary import counted, rate_of, shown

LIKE = {
    "like the first blocks": "like the first blocks",
    "like the last blocks": "like the last block",
    "like the whole": "like the whole",
}


@dataclass(frozen=True)
class _Group:
    """The counts of every law in one setting."""

    laws: Mapping[str, tuple[int, Mapping[str, float]]]

    def pooled(self, name: str, of: str | None = None) -> dict[str, float] | None:
        """Return the rate over all laws."""
        hits = sum(counts.get(name, 0) for _, counts in self.laws.values())
        tries = sum(counts.get(of, 0) if of else tried for tried, counts in self.laws.values())
        return rate_of(int(hits), int(tries)) if tries else None

    def worst(self, name: str, of: str | None = None) -> tuple[float, str, int]:
        """Return the largest rate of a law, which law, and of how many."""
        rates = []
        for law, (tried, counts) in self.laws.items():
            tries = int(counts.get(of, 0)) if of else tried
            if tries:
                rates.append((counts.get(name, 0) / tries, law, tries))
        return max(rates, default=(0.0, "", 1))

    def told(self, name: str, of: str | None = None) -> str:
        """Return the rate over all laws, and the largest of a law."""
        pooled = self.pooled(name, of)
        return "" if pooled is None else f"{shown(pooled)}; {self.worst(name, of)[0]:.3f}"


def _group(results: Results[Any], **wanted: Any) -> _Group:
    laws: dict[str, tuple[int, dict[str, float]]] = {}
    for done in results.cells:
        if any(done.cell.get(name) != value for name, value in wanted.items()):
            continue
        tries, counts = laws.get(done.cell["law"], (0, {}))
        for name, value in done.values.items():
            counts[name] = counts.get(name, 0) + value
        laws[done.cell["law"]] = tries + done.cell["count"], counts
    return _Group(laws)


def _splits(results: Results[Any]) -> Iterator[tuple[list[str], _Group]]:
    settings = results.settings
    for size in settings.split_sizes:
        for blocks in settings.blocks:
            for drift in settings.drifts:
                group = _group(results, part="split", size=size, blocks=blocks, drift=drift)
                if group.laws:
                    yield [str(Sizes.of(size)), str(blocks), f"{drift:g}"], group


def _noises(results: Results[Any]) -> Iterator[tuple[list[str], _Group]]:
    settings = results.settings
    for size in settings.sizes:
        for level in settings.levels:
            group = _group(results, part="noise", size=size, level=level)
            if group.laws:
                yield [str(Sizes.of(size)), f"{level:g}"], group


def body(results: Results[Any]) -> str:
    """Return what was done, and the tables."""
    settings = results.settings
    split = [
        [
            *where,
            *(group.told(f"far {name}") for name in LIKE),
            *(group.told(f"close {name}") for name in LIKE),
            group.told("close beyond", "beyond"),
        ]
        for where, group in _splits(results)
    ]
    noise_ = [
        [*where, group.told("far with the noise"), group.told("close with the noise"), group.told("none")]
        for where, group in _noises(results)
    ]
    return (
        "`Tolerance.from_split` takes epsilon from how far blocks of the reference are from the rest of it. "
        "What it promises: a candidate that is distributed like the reference, or like any of its blocks, is "
        f"called FAR with a probability of at most {ALPHA:g}; and epsilon is then a number, so that a "
        f"candidate beyond that number is called CLOSE with at most {ALPHA:g}. "
        f"{counted(len(settings.split_laws), 'law')}; *drift* is the exact distance of the last block from "
        "the others. Rows are those of reference : candidate. Each entry: the rate over all laws; the "
        "largest of one law. A candidate *beyond* is farther from the law of the reference than the epsilon "
        "of that very tolerance by at most a tenth of it:\n\n"
        + table(
            [
                *("rows", "blocks", "drift"),
                *(f"FAR, {told}" for told in LIKE.values()),
                *(f"CLOSE, {told}" for told in LIKE.values()),
                "CLOSE, beyond",
            ],
            split,
        )
        + "\n`Tolerance.from_noise` estimates how far the population is from itself with noise on every row. "
        "What it promises: a candidate that is such a population, with noise of just that size, is called "
        f"FAR with a probability of at most {ALPHA:g}, and CLOSE likewise. "
        f"{counted(len(settings.laws), 'law')}; the level is in standard deviations. Where the noise cannot "
        "be told apart from none there is no tolerance:\n\n"
        + table(["rows", "level", "FAR", "CLOSE", "no tolerance"], noise_)
    )


def _wrong(results: Results[Any]) -> Iterator[tuple[str, float, str, int]]:
    """Yield every kind of error in every setting: which, and its largest rate, with the law and the tries."""
    for (rows, blocks, drift), group in _splits(results):
        where = f"{blocks} blocks, drift {drift}, {rows} rows"
        for name, told in LIKE.items():
            yield f"`from_split`, FAR {told}, {where}", *group.worst(f"far {name}")
        yield f"`from_split`, CLOSE beyond epsilon, {where}", *group.worst("close beyond", "beyond")
    for (rows, level), group in _noises(results):
        for asked in ("far", "close"):
            told = f"`from_noise`, {asked.upper()}, level {level}, {rows} rows"
            yield told, *group.worst(f"{asked} with the noise")


def sentence(results: Results[Any]) -> str:
    """Return what was found, in a few sentences."""
    parts = []
    for kind in ("from_split", "from_noise"):
        found = [each for each in _wrong(results) if each[0].startswith(f"`{kind}`")]
        told, rate, law, tries = max(found, key=lambda each: each[1])
        off = sum(_above(rate, tries) for _, rate, _, tries in found)
        parts.append(
            f"The largest rate of wrong verdicts of `{kind}` is {shown(rate_of(round(rate * tries), tries))} "
            f"({told.partition(', ')[2]}, {law}); the largest of a law is above {ALPHA:g} by more than "
            f"chance explains in {off} of {len(found)} settings."
        )
    return " ".join(parts)


def _above(rate: float, tries: int) -> bool:
    return rate > ALPHA + ERRORS * noise(ALPHA, tries)


def notes(results: Results[Any]) -> list[str]:
    """Return where something remains."""
    off = [each for each in _wrong(results) if _above(each[1], each[3])]
    if not off:
        return []
    each = "; ".join(
        f"{told}: {rate:.3f} ({law})" for told, rate, law, _ in sorted(off, key=lambda e: -e[1])[:8]
    )
    return [f"Where a verdict is wrong too often: {each}."]
