"""Choosing a kernel from data: a bandwidth from a grid, a kernel learned by Adam, and an honest split."""
