"""Former place of `ResampledResult`, which is in `nammd.methods.resampling`."""

from nammd.methods.resampling import ResampledResult

__all__ = ["ResampledResult"]
