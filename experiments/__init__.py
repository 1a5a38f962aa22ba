"""The evaluation of the NAMMD paper, rerun with nammd itself.

``python -m experiments``, from the root of the repository, runs it and writes ``docs/paper.md``; the
README beside this file says how. One module of `experiments.paper` is one experiment: what it computes,
with which settings, what the paper printed, and how both are shown.
"""
