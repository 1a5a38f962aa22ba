"""The settings of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True)
class Settings:
    """What all settings have; an experiment adds its own fields, numbers and texts and tuples of them.

    Attributes
    ----------
    repetitions : int
        How often a random experiment is repeated for each figure; 1 where nothing is random.
    """

    repetitions: int = 1


S = TypeVar("S", bound=Settings)
