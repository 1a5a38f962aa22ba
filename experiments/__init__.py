"""The evaluation of the NAMMD paper, rerun with nammd itself, and the study of calibration that it lacks.

``python -m experiments``, from the root of the repository, runs them and writes ``docs/paper.md``,
``docs/calibration.md`` and tables of the guide; the README beside this file says how. One module of
`experiments.paper` or `experiments.calibration` is one experiment: what it computes, with which settings,
what the paper printed, and how both are shown.
"""
