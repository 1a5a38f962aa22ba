"""The program: the command line in a process of its own, as ``nammd`` or ``python -m nammd``."""

from __future__ import annotations

import gc
import sys

from nammd.cli import main


def run() -> int:
    """Run the command line of this process and return its exit code."""
    # Most of what a short program makes stays to its end, and looking for garbage in it again and again takes
    # a tenth of the time.
    gc.set_threshold(20_000, 20, 20)
    return main()


if __name__ == "__main__":
    sys.exit(run())
