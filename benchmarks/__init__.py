"""Side-by-side ratios: nammd against its peers and against the limit of the machine.

``python -m benchmarks``, from the root of the repository, measures and prints them all.

Seconds depend on the machine and on what else runs on it; ratios do much less, if both sides are
measured in turns. So every bar on speed is a bar on a ratio, and every ratio is the median over
rounds in which each side ran once (see `timing`). The exception are whole commands (`commands`), whose bars
are what a person waits for on two idle cores.
"""
