"""What changed, in words: sentences about columns, facts, and pairs of columns.

Sentences come from simple robust summaries of all rows. Whether there is something to say is not decided
here: that takes a test (`nammd.views.limits`), but for facts, which are counted.
"""
