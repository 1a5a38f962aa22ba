"""Numbers stay whole on a page, and long names break at their joints."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nammd.results.wrapping import wrapped


@pytest.mark.parametrize(
    "whole", ["1e-07", "-3.5", "12 %", "2026-11-18", "p < 0.0001", "p = 1", "-1,234,567.8"]
)
def test_what_a_browser_would_break_stays_whole(whole):
    text = f"income ({whole}), more"
    assert wrapped(text) == f'income (<span class="whole">{html.escape(whole)}</span>), more'


@pytest.mark.parametrize("plain", ["0.5 and 1,234", "a-b 3-4", "week-2026", "x1e-5y", "no numbers"])
def test_what_needs_no_help_gets_no_markup(plain):
    assert wrapped(plain) == html.escape(plain)


def test_only_long_names_may_be_broken():
    assert (
        wrapped("short_name long_name_of_a_column") == "short_name long_<wbr>name_<wbr>of_<wbr>a_<wbr>column"
    )


@given(st.text())
def test_nothing_is_added_to_or_taken_from_the_text(text):
    made = wrapped(text)
    shown = html.unescape(re.sub(r'<wbr>|<span class="whole">|</span>', "", made))
    assert shown == html.unescape(html.escape(text))
    assert set(re.findall(r"<[^>]*>", made)) <= {"<wbr>", '<span class="whole">', "</span>"}
