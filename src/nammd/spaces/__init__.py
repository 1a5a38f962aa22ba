"""Where distances are measured: how rows become points, and how similar two points are."""

from nammd.spaces.sample import Sample
from nammd.spaces.space import Space, SpaceLike, SpaceOptions

__all__ = ["Sample", "Space", "SpaceLike", "SpaceOptions"]
