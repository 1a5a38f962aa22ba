"""The page can be read."""

import re

from experiments.page import DOCS


def test_the_page_can_be_read():
    text = (DOCS / "paper.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 6000
    first = text.partition("## Overview")[0]
    assert len(first.split()) < 300
    assert first.index("random denominator") < 200
    assert not re.search(r"\bquick\b|\bfull settings\b", text, re.IGNORECASE)
