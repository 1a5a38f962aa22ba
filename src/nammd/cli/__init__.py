"""The command line: parse, call one public function, render; nothing else.

==================  ===================================================================================
`app`               the commands by name, and ``--version``
`check`, ...        one module per group of commands
`options`           the options that commands share
`data`              from the names of files to encoded samples
`output`            results for people, and as JSON
`progress`          what is being done, once it takes longer than a second
`errors`            any failure as one sentence and an exit code, and wherever a result was asked for
`paths`             where data are, and which files may be replaced
==================  ===================================================================================

Importing any of them imports neither NumPy nor a reader of files, so that ``nammd --help`` is quick:
what computes is imported inside the commands.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after the name of the program; by default those of this process.

    Returns
    -------
    int
        0, or what the command says; 2 after an error, of which one sentence stands on stderr.

    Examples
    --------
    >>> from nammd.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    nammd ...
    0
    """
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError as error:
        print(
            f"nammd: the command line needs the package {error.name}; "
            "install it with: pip install 'nammd[app]'",
            file=sys.stderr,
        )
        return 2
    from nammd.cli.errors import guarded
    from nammd.cli.paths import files_are_no_options

    words = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(files_are_no_options(words[1:]) if words[:1] == ["hook"] else words)
