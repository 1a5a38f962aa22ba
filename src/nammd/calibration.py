"""What a tolerance was read from: `Rung`."""

from nammd.tolerances.ladder import Rung

__all__ = ["Rung"]
