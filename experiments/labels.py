"""What of the paper is covered: the labels of its LaTeX source, in the order of the page.

Examples in the text, and two of the four tables of type-I errors, have no label; they have names of their
own here.
"""

from __future__ import annotations

PAPER = (
    "bounds",
    "level-map",
    "fig:var",
    "fig:std_MMD",
    "TAB:tv",
    "TAB:nammd_wass",
    "fig:tst",
    "TAB:same_mmd",
    "same-mmd-redrawn",
    "TAB:diff_mmd",
    "diff-mmd-penalised",
    "closeness-kernel",
    "TAB:kernels",
    "fig:tst_typeI",
    "fig:dct_typeI",
    "TAB:TypeI-SK",
    "TAB:TypeI-V2",
    "TAB:TypeI-A",
    "TAB:TypeI-R",
    "fig:DA2_plot",
    "tab:margin",
    "fig:DA_plot",
    "fig:ADV_plot",
    "fig:stat_scheme",
    "tab:nammd-mmd-sigma",
    "example-1",
    "power-margin",
    "tab:bandwidth_sensitivity",
    "tab:norm_error",
    "tab:runtime_compare",
    "limitation-polynomial",
    "limitation-matrix-product",
    "limitation-constant-tail",
    "text",
)
"""``bounds`` stands for the lemmas, theorems and remarks, ``level-map`` for a footnote of theirs, two names
for tables by another protocol, ``closeness-kernel`` for a choice that the paper leaves open, and ``text`` for
corrections of the text that belong to no table or figure."""

CALIBRATION = (
    "calibration-level",
    "calibration-estimated",
    "calibration-estimated-power",
    "calibration-reference-alone",
    "calibration-groups",
    "calibration-hull",
    "calibration-scales",
    "calibration-coverage",
    "calibration-power",
    "calibration-columns",
    "calibration-methods",
    "calibration-median-bandwidth",
    "calibration-sketch-accuracy",
    "calibration-sketch-frequencies",
    "calibration-sketch-samples",
    "calibration-group-totals",
    "calibration-monitor",
    "calibration-windows",
    "calibration-facts",
    "calibration-exact-bets",
)
"""The study of level, coverage and power that the paper lacks."""

ALL = PAPER + CALIBRATION
