"""Where a tolerance came from: `Origin`."""

from nammd.tolerances.provenance import Origin

__all__ = ["Origin"]
