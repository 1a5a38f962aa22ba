"""Write the tables of speed, and of what is found in data and streams, from result files.

No number is there by hand.
Run ``python -m benchmarks.tables`` after measuring; a test compares the tables with the files. The other
tables are made by `experiments.page`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.real_tables.pages import pages
from benchmarks.streams.pages import overview

_ROOT = Path(__file__).resolve().parent
RESULTS = _ROOT / "results"
TABLES = _ROOT.parent / "docs" / "tables"


def tables() -> dict[str, str]:
    """Return every table by the name of its file."""
    real = {name: _table(*page) for name, page in pages(_stored("real_tables")).items()}
    streams = {"streams.md": _table(*overview(_stored("streams")))}
    return {"cluster.md": cluster(_stored("cluster")), "gpu.md": measured(_stored("gpu")), **real, **streams}


def _stored(name: str) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return stored


def cluster(stored: dict[str, Any]) -> str:
    """Return what the cluster engine reaches, beside the tile engine."""
    rows = [
        [
            str(one["workers"]),
            f"{one['cluster seconds']:.2f}",
            f"{one['tiles seconds']:.2f}",
            f"{max(one['ratio'] - 1, 0):.0%}".replace("%", " %"),
            f"{one['million values a second']:,.0f}",
            f"{one['milliseconds a task']:.1f}",
        ]
        for one in stored["workers"]
    ]
    head = [
        "workers, or threads",
        "seconds, `Cluster`",
        "seconds, `Tiles`",
        "lost",
        "million kernel values a second",
        "milliseconds a task",
    ]
    note = (
        f"Two samples of {stored['rows']:,} rows and {stored['columns']} columns in float32, in blocks of "
        f"{stored['block rows']:,}; Gaussian kernel, medians on "
        f"{stored['environment']['cpus']} CPUs, which also run scheduler and client. "
        "Lost is the median over rounds of what `Cluster` takes longer than `Tiles` with as many threads."
    )
    return _table(head, rows) + f"\n{note}\n"


def measured(stored: dict[str, Any]) -> str:
    """Return the figures of ``python -m benchmarks``, with the bar of each where it has one."""
    rows = []
    for one in stored["measurements"]:
        bar = one["bar"]
        limit = f"{'at least' if bar['at_least'] else 'at most'} {bar['limit']:g}" if bar else ""
        rows.append([one["what"], f"{one['value']:.3g} {one['unit']}", limit])
    details = stored["measurements"][0]["details"]
    versions = ", ".join(f"{name} {details[name]}" for name in ("torch", "triton"))
    return _table(["what", "measured", "bar"], rows) + f"\n{details['device']}, {versions}.\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    TABLES.mkdir(exist_ok=True)
    for file, text in tables().items():
        (TABLES / file).write_text(text, encoding="utf-8")
