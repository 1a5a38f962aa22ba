"""Tests of the published methods."""
