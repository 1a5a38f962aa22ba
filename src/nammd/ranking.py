"""What a `Ranking` contains: `Ranked` and `Contrast`."""

from nammd.questions.ranking import Contrast, Ranked

__all__ = ["Contrast", "Ranked"]
