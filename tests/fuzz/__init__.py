"""Hostile inputs by the thousand: whatever comes in, nammd answers or refuses in a sentence.

An *input* is a number. From it and a seed follow what is tried and every byte of it, so that any finding can
be made again by its number alone. `seeds` has the files to begin with, `mutate` spoils them, `rules` says
what must hold, `trials` has one function for each kind of input, `resealed` and `monitors` those of files of
nammd's own that were edited and sealed anew, and `run` lets processes work through the numbers and watches
over their time, memory and life. `kills` ends writers while they write.

    python -m tests.fuzz --inputs 100000
    python -m tests.fuzz --only 4711        # one input again, with its traceback

What was found once is kept in `corpus` and tried in every run of the tests.
"""
