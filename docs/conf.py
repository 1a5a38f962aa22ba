"""Configuration of the documentation site; build it with ``make docs``."""

import sys
from pathlib import Path

import nammd

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "nammd"
author = "the nammd authors"
copyright = "the nammd authors"
version = release = nammd.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "command_options",
]

source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_ext", "tables"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
smartquotes_action = "q"  # two hyphens begin an option

# `name` in a docstring is a link where there is something to link to.
default_role = "py:obj"

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
autodoc_mock_imports = ["airflow", "great_expectations"]  # classes of theirs are bases of ours
numpydoc_show_class_members = False  # the class template lists them

html_theme = "furo"
html_title = f"nammd {release}"
html_copy_source = False
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/version.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
