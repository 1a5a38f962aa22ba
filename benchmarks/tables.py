"""Write tables and figures of the documentation from the result files, so that no number is there by hand.

Run ``python -m benchmarks.tables`` after measuring; a test compares the tables with the files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.sketch_figure import figure

_ROOT = Path(__file__).resolve().parent
RESULTS = _ROOT / "results"
TABLES = _ROOT.parent / "docs" / "tables"


def tables() -> dict[str, str]:
    """Return every table and figure by the name of its file."""
    sketches = json.loads((RESULTS / "sketch_accuracy.json").read_text(encoding="utf-8"))
    return {
        "sketch-accuracy.md": sketch_accuracy(sketches),
        "sketch-accuracy.svg": figure(sketches),
        "methods.md": methods(json.loads((RESULTS / "methods.json").read_text(encoding="utf-8"))),
        "median-level.md": median_level(
            json.loads((RESULTS / "median_level.json").read_text(encoding="utf-8"))
        ),
        **sketch_level(json.loads((RESULTS / "sketch_level.json").read_text(encoding="utf-8"))),
        "cluster.md": cluster(json.loads((RESULTS / "cluster.json").read_text(encoding="utf-8"))),
        "gpu.md": measured(json.loads((RESULTS / "gpu.json").read_text(encoding="utf-8"))),
    }


def methods(stored: dict[str, Any]) -> str:
    """Return what each two-sample test costs and detects."""
    data = list(stored["rows per sample"])
    head = ["method"]
    for name in data:
        size = stored["rows per sample"][name]
        head += [f"{name}, {size} rows: power", "level", "CPU seconds"]
    rows = [
        [
            one["method"],
            *(
                text
                for name in data
                for text in (
                    f"{one[f'{name} power']:.2f}",
                    f"{one[f'{name} level']:.2f}",
                    f"{one[f'{name} seconds']:.2g}",
                )
            ),
        ]
        for one in stored["methods"]
    ]
    note = (
        f"Shares of {stored['repetitions']} draws rejected at level 0.05, so a share has a standard error of "
        f"up to {0.5 / stored['repetitions'] ** 0.5:.2f}; median CPU time of one test."
    )
    return _table(head, rows) + f"\n{note}\n"


def median_level(stored: dict[str, Any]) -> str:
    """Return the level of closeness tests with a bandwidth taken from the tested rows."""
    rows = [
        [one["laws"], str(one["rows"]), f"{one['too far']:.3f}", f"{one['close']:.3f}"]
        for one in stored["settings"]
    ]
    head = ["laws", "rows each", "proving too far", "proving close"]
    note = f"Shares of {stored['repetitions']} samples at the boundary rejected at level {stored['alpha']}."
    return _table(head, rows) + f"\n{note}\n"


def sketch_level(stored: dict[str, Any]) -> dict[str, str]:
    """Return the level of tests on sketches: by the number of features, and over samples."""
    rows = [
        [one["kernel"], f"{one['bandwidth']:g}", str(one["columns"]), str(one["features"])]
        + [f"{one[name]:.3f}" for name in ("too far", "close", "close, not cautioned")]
        + [f"{one['cautioned']:.0%}".replace("%", " %")]
        for one in stored["settings"]
    ]
    head = ["kernel", "bandwidth", "columns", "features"]
    head += ["proving too far", "proving close", "of these without caution"]
    counts = [one["repetitions"] for one in stored["settings"]]
    note = (
        f"Shares of {max(counts)} draws of the frequencies ({min(counts)} of 1024 features) that reject a "
        f"true null hypothesis at level {stored['alpha']}, and that carry the caution `few-frequencies`. Two "
        f"normal laws that differ by {stored['shift']} in one column, infinitely many rows, epsilon exact."
    )
    names = {
        "own": "under the features, the same ones each time",
        "exact": "under the exact kernel, other features each time",
        "exact, nothing added": "the same without the variance over frequencies",
    }
    sampled = []
    for one in stored["samples"]:
        shares = {name: [pair[name] for pair in one["laws"]] for name in ("too far", "close")}
        ranges = [f"{min(found):.3f} to {max(found):.3f}" for found in shares.values()]
        sampled.append([names[one["meant"]], str(one["rows"]), *ranges])
    sampled_head = ["epsilon is meant", "rows each", "proving too far", "proving close"]
    sampled_note = (
        f"Smallest and largest share over {len(stored['samples'][0]['laws'])} pairs of laws, of "
        f"{stored['repetitions of samples']} samples each; Gaussian kernel, "
        f"{stored['features of samples']} features, level {stored['alpha']}."
    )
    return {
        "sketch-level.md": _table([*head, "cautioned"], rows) + f"\n{note}\n",
        "sketch-level-samples.md": _table(sampled_head, sampled) + f"\n{sampled_note}\n",
    }


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


def sketch_accuracy(stored: dict[str, Any]) -> str:
    """Return how close the distances of sketches are to those of the exact kernel."""
    head = ["features", "file"]
    for one in stored["kernels"]:
        head += [f"{one['kernel']}: measured error", "as stated"]
    rows = []
    for k, size in enumerate(row["features"] for row in stored["kernels"][0]["sizes"]):
        megabytes = size * (size + 3) / 2 * 8 / 1e6
        cells = [f"{one['sizes'][k][kind]:.5f}" for one in stored["kernels"] for kind in ("error", "stated")]
        rows.append([str(size), f"{megabytes:.2g} MB", *cells])
    values = ", ".join(
        f"{one['value']:.4f} ± {one['standard_error']:.4f} ({one['kernel']})" for one in stored["kernels"]
    )
    note = (
        f"Root mean square over {stored['seeds']} draws of frequencies, for two normal samples of "
        f"{stored['rows']} rows and {stored['columns']} columns whose exact distances are {values}."
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
