"""Run the examples of the Markdown pages, each page in an empty folder of its own.

Python is run as doctests. In a block marked ``console``, every command that begins with ``nammd`` is run,
and what follows it must be what it prints, with ``...`` for what varies; ``echo $?`` prints its exit code.
Other commands are for the reader, so they show no output.
"""

import os
import shlex
import shutil
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from functools import cache
from glob import glob
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

collect_ignore_glob = ["conf.py", "_build/*", "_ext/*", "api/generated/*"]


def enter_folder(namespace):
    namespace["home"], namespace["folder"] = os.getcwd(), tempfile.mkdtemp()
    namespace["write_demo_files"] = write_demo_files
    namespace["installed"] = lambda package: find_spec(package) is not None
    # What takes longest of a report, and nobody looks at here; tests/report draws it.
    namespace["pictures"] = patch("nammd.report.html._image", lambda axes: "data:,")
    namespace["pictures"].start()
    os.chdir(namespace["folder"])


def leave_folder(namespace):
    namespace["pictures"].stop()
    os.chdir(namespace["home"])
    shutil.rmtree(namespace["folder"])


def write_demo_files(calibrated=True):
    """Write the files of ``nammd demo`` here, and the tolerance that it makes of them."""
    for name, content in demo_files().items():
        if calibrated or name != "tolerance.json":
            Path(name).write_bytes(content)


@cache
def demo_files():
    """Return what those files hold; many pages begin with them."""
    from nammd.cli.demo import ACCEPTED, REFERENCE, write_files

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_files(Path())
        printed, code = run(
            ["calibrate", REFERENCE, ACCEPTED, "--exclude", "submitted", "-o", "tolerance.json"]
        )
        assert code == 0, printed
        return {path.name: path.read_bytes() for path in Path().iterdir()}


def run_console(example):
    for command, expected in commands(str(example.parsed)):
        words = shlex.split(command)
        if words[:1] == ["nammd"]:
            printed, example.namespace["exit_code"] = run(words[1:])
        elif words == ["echo", "$?"]:
            printed = f"{example.namespace['exit_code']}\n"
        else:
            printed = ""
        if not OutputChecker().check_output(expected, printed, ELLIPSIS):
            return f"{command}\nshould print\n{expected}\nbut prints\n{printed}"
    return None


def commands(text):
    """Return every command of a block with the output shown below it."""
    found = []
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append((line[2:].partition(" #")[0], []))
        elif found:
            found[-1][1].append(line + "\n")
    return [(command, "".join(lines)) for command, lines in found]


def run(words):
    from nammd.cli import main

    expanded = [each for word in words for each in (sorted(glob(word)) if "*" in word else [word])]
    output = StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = main(expanded)
    return output.getvalue(), code


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE),
        CodeBlockParser(language="console", evaluator=run_console),
        SkipParser(),
    ],
    patterns=["*.md"],
    excludes=["_build/*"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()
