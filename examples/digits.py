"""Ask whether two piles of handwritten digits are close enough.

Scikit-learn carries 1797 small images of handwritten digits, ordered by the person who wrote them. The
first half against the second half is therefore a natural shift, other people's handwriting; random
halves are none. A two-sample test can tell that the first pair differs. The question here is whether it
differs by more than a tolerance.

Run it with ``make demo``, or where scikit-learn and ``nammd[app]`` are installed::

    python examples/digits.py [FOLDER]

It writes the halves to files and runs the command line on them, printing every command.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from nammd.cli import main as nammd

TOLERANCE = "0.0008"


def write_halves(folder: Path) -> None:
    pixels = load_digits().data / 16
    shuffled = np.random.default_rng(0).permutation(pixels)
    middle = len(pixels) // 2
    for name, digits in (("writers", pixels), ("random", shuffled)):
        np.save(folder / f"{name}-1.npy", digits[:middle])
        np.save(folder / f"{name}-2.npy", digits[middle:])


def say(words: str) -> None:
    print(f"# {words}")


def run(*arguments: str) -> int:
    print(f"$ nammd {shlex.join(arguments)}")
    code = nammd(arguments)
    print(f"(exit code {code})\n")
    return code


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_halves(folder)
    with contextlib.chdir(folder):
        say("Digits by different people: the same distribution? No test would say so.")
        run("test", "writers-1.npy", "writers-2.npy")
        say(f"But are they within a tolerance of {TOLERANCE}?")
        far = run("check", "writers-1.npy", "writers-2.npy", "--epsilon", TOLERANCE, "--html", "digits.html")
        say("And random halves of all digits?")
        close = run("check", "random-1.npy", "random-2.npy", "--epsilon", TOLERANCE)
    if (far, close) != (1, 0):
        sys.exit("the digits did not come out as expected")
    print(f"The report on the writers is {folder / 'digits.html'}; open it in a browser.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="nammd-digits-")))
