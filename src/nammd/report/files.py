"""Which data a report is about: files with their rows and digests."""

from __future__ import annotations

from nammd.report.model import FileRow
from nammd.results import Reportable


def files_of(result: Reportable) -> tuple[FileRow, ...]:
    """Return where both datasets came from."""
    evidence = result.measured.evidence
    rows = []
    for role, sample in zip(result.datasets, (evidence.x, evidence.y), strict=True):
        source = sample.dataset.source
        rows.append(
            FileRow(
                role=role,
                path="data in memory" if source is None else str(source.path),
                rows=sample.size,
                total=None if source is None else source.total_rows,
                digest=sample.digest[:16],
            )
        )
    return tuple(rows)
