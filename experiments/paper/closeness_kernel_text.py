"""What the page says of kernels for closeness: tables, and sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.results import Results
from experiments.section import Section, table
from experiments.summary import pooled_mean, pooled_rate, shown

_COLUMNS = {
    "median, all rows": "unsplit median",
    "median": "median",
    "accepted pair": "two-sample accepted",
    "far pair": "two-sample far",
    "ours": "closeness",
}
_KINDS = {"fine": "fine", "coarse": "coarse", "paper": "the paper's data", "level": "level"}
_LEARNED = ("Mahalanobis, far pair", "Mahalanobis, ours", "deep, far pair", "deep, ours")


def _faults(results: Results[Any], kind: str) -> list[str]:
    return list(dict.fromkeys(str(d.cell["fault"]) for d in results.cells if d.cell["what"] == kind))


def _rejected(results: Results[Any], way: str, kind: str, fault: str | None = None) -> dict[str, float]:
    """Return how often a way of choosing led to a rejection, for one fault or for all of a kind."""
    wanted = {"what": kind} if fault is None else {"what": kind, "fault": fault}
    return pooled_rate(values["rejected"][way] for values in results.where(**wanted))


def _worst(results: Results[Any], way: str) -> dict[str, float]:
    """Return the largest level over the laws at the margin."""
    levels = [_rejected(results, way, "level", fault) for fault in _faults(results, "level")]
    return max(levels, key=lambda one: one["mean"])


def _learned(results: Results[Any], fault: str, way: str) -> dict[str, float]:
    found = results.where(what="learned", fault=fault, way=way)
    return pooled_rate(values["rejected"] for values in found)


def _seconds(results: Results[Any], way: str) -> str:
    """Return how long one choice took."""
    cells = [d for d in results.cells if d.cell["what"] == "cost" and d.cell["way"] == way]
    each = sum(d.seconds for d in cells) / sum(int(d.cell["count"]) for d in cells)
    return f"{each:.1f} s" if each >= 1 else f"{each:.2f} s" if each >= 0.1 else f"{1000 * each:.0f} ms"


def _list(shares: Mapping[str, Mapping[str, float]]) -> str:
    return ", ".join(f"{words} {share['mean']:.2f}" for words, share in shares.items())


def _by_kind(results: Results[Any]) -> str:
    rows = [
        [words, *(shown(_rejected(results, way, kind), 2) for way in _COLUMNS)]
        for kind, words in _KINDS.items()
    ]
    return table(["", *_COLUMNS.values()], rows)


def _by_fault(results: Results[Any]) -> str:
    """Return the table of the guide: every fault, and at which scale it was looked for."""
    rows = []
    for kind in (*_KINDS, "fails"):
        for fault in _faults(results, kind):
            octaves = pooled_mean(v["octaves"] for v in results.where(what=kind, fault=fault))["mean"]
            shares = (f"{_rejected(results, way, kind, fault)['mean']:.2f}" for way in _COLUMNS)
            rows.append([kind, fault, *shares, f"{2**octaves:.2f}"])
    return table(["", "to be found", *_COLUMNS.values(), "bandwidth / median"], rows)


def _of_learned(results: Results[Any]) -> str:
    rows = []
    for fault in _faults(results, "learned"):
        kind = next(
            str(d.cell["what"]) for d in results.cells if d.cell["fault"] == fault and "way" not in d.cell
        )
        shares = (shown(_learned(results, fault, way), 2) for way in _LEARNED)
        rows.append([fault, shown(_rejected(results, "ours", str(kind), fault), 2), *shares])
    rows.append(["time of a choice", *(_seconds(results, way) for way in ("ours", *_LEARNED))])
    return table(["to be found", "bandwidth closeness", *(_words(way) for way in _LEARNED)], rows)


def _words(way: str) -> str:
    kind, criterion = way.split(", ")
    return f"{kind} {'two-sample' if criterion == 'far pair' else 'closeness'}"


def _failures(results: Results[Any]) -> str:
    shares = {fault: _rejected(results, "ours", "fails", fault) for fault in _faults(results, "fails")}
    return f"Where it fails: {_list(shares)}."


def _sentence(results: Results[Any]) -> str:
    def found(kind: str) -> str:
        ours, theirs = (_rejected(results, way, kind)["mean"] for way in ("ours", "accepted pair"))
        return f"{ours:.2f} (the paper's criterion: {theirs:.2f})"

    return (
        f"Fine faults are found in {found('fine')}, coarse ones in {found('coarse')}; at the margin at most "
        f"{shown(_worst(results, 'ours'), 2)} are rejected."
    )


def section(results: Results[Any]) -> Section:
    """Return the section of the page, and the tables of the guide."""
    settings = results.settings
    body = (
        "The paper takes the two-sample criterion on the accepted pair, and leaves open how to choose for "
        "closeness. Ours knows [both distances](guide/kernels.md#a-kernel-for-closeness). Half of the rows "
        "choose one of 15 bandwidths, half test (`compare_pairs`, level 0.05): "
        f"{settings.rows} of each dataset, of the paper's data {settings.paper_rows}. Mean rejections:\n\n"
        f"{_by_kind(results)}\n{_failures(results)} The guide has all faults, learned kernels and times."
    )
    return Section(
        body=body,
        sentence=_sentence(results),
        tables={
            "closeness-kernel.md": _by_fault(results),
            "closeness-kernel-learned.md": _of_learned(results),
        },
    )
