"""Tiles of the Gram matrix, streamed through the cache in threads: the engine for arrays in memory."""

from nammd.engines.tiles.engine import Tiles

__all__ = ["Tiles"]
