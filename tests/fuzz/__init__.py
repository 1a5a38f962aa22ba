"""Hostile inputs by the thousand: whatever comes in, nammd answers or refuses in a sentence.

An *input* is a number. From it and a seed follow what is tried and every byte of it, so that any finding can
be made again by its number alone. `seeds` has the files to begin with, `mutate` spoils them, `trials` has one
function for each kind of input which raises `Finding` if the rules are broken, and `run` lets processes work
through the numbers and watches over their time, memory and life. `monitors` edits monitors, and `kills` ends
writers while they write.

    python -m tests.fuzz --inputs 100000
    python -m tests.fuzz --only 4711        # one input again, with its traceback

What was found once is kept in `corpus` and tried in every run of the tests.
"""
