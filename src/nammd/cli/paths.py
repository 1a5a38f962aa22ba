"""Where data are: a file, a folder, standard input, or an address; and which files a command may replace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nammd.errors.addresses import STDIN, is_address, shown

if TYPE_CHECKING:
    from nammd.tolerances.tolerance import Tolerance


class Place(type(Path())):  # type: ignore[misc]
    """Data that are not in a local file; it passes for a path, of which nothing is secret.

    The address itself is in `given`, and nowhere else: name, stem and parents are those of what is shown.
    """

    given: str

    def exists(self, **options: bool) -> bool:
        """Say that it may be there, which only reading it can tell."""
        return True

    def __str__(self) -> str:
        # Of a part of it, such as its parent, nothing was given.
        return shown(self.given) if "given" in self.__dict__ else str(super().__str__())


def files_are_no_options(words: Sequence[str]) -> list[str]:
    """Return the words of a command in which names of files stand beside options, as a hook is given them.

    There is no telling where the names begin. So a word that is the name of a file is one, whatever it looks
    like: a file with the name of an option makes the command fail, and never changes what it does.
    """
    return [f"./{word}" if word.startswith("-") and os.path.lexists(word) else word for word in words]


def place(text: str) -> Path:
    """Return an argument as a path, or as a place elsewhere."""
    if text != STDIN and not is_address(text):
        return Path(text)
    found = Place(shown(text))
    found.given = text
    return found


def given(path: Path) -> str | Path:
    """Return what readers take."""
    return path.given if isinstance(path, Place) else path


def file_of(path: Path) -> Path:
    """Return the file that is read: of a sheet, its workbook.

    >>> file_of(Path("shop.xlsx#May")).name
    'shop.xlsx'
    """
    if "#" not in path.name:
        return path
    from nammd.reading.places import split_sheet

    return Path(split_sheet(path)[0])


def chosen(values: list[str] | None, number: int) -> str | None:
    """Return the value of an option that may be given for each file: the last one serves for the rest."""
    if not values:
        return None
    return values[min(number, len(values) - 1)] or None


def require_replaceable(target: Path, force: bool) -> None:
    """Refuse a file that is no tolerance, before any work is done; what is no file holds nothing to lose."""
    if force or not target.is_file() or not target.stat().st_size:
        return
    if _kept(target) is None:
        raise FileExistsError(
            f"{str(target)!r} already exists, and is not a tolerance that can be read; choose another "
            "name, or pass --force to replace it"
        )


def require_sketch_or_nothing(target: Path) -> None:
    """Refuse to write a sketch over something else; one of yesterday, whole or broken, may go."""
    from nammd.cli.sketch_files import is_broken, is_sketch

    if not target.is_file() or not target.stat().st_size or is_sketch(target) or is_broken(target):
        return
    raise FileExistsError(
        f"{str(target)!r} already exists, and is not a sketch; choose another name, or remove it"
    )


def short_names(paths: Sequence[Path]) -> list[str]:
    """Return what to call files: their names without an ending, where these tell them apart.

    >>> short_names([Path("data/may.csv"), Path("data/june.csv")])
    ['may', 'june']
    >>> short_names([Path("a/may.csv"), Path("b/may.csv")])
    ['a/may.csv', 'b/may.csv']
    """
    names = [path.stem for path in paths]
    return names if len({*names, "reference"}) == len(names) + 1 else [path.as_posix() for path in paths]


def save_tolerance(tolerance: Tolerance, target: Path, force: bool) -> None:
    """Write a tolerance; one that is there and says something else stays."""
    kept = None if force or not target.is_file() or not target.stat().st_size else _kept(target)
    if kept is not None and not _same(kept, tolerance):
        raise FileExistsError(
            f"{str(target)!r} already exists and is another tolerance: {kept.epsilon:.4g} there, "
            f"{tolerance.epsilon:.4g} now, from other data or options; choose another name, or pass --force "
            "to replace it"
        )
    tolerance.save(target)


def _kept(target: Path) -> Tolerance | None:
    from nammd.tolerances.tolerance import Tolerance

    try:
        return Tolerance.load(target)
    except (ValueError, OSError, ImportError):
        return None


def _same(one: Tolerance, other: Tolerance) -> bool:
    """Tell whether two tolerances differ in nothing but when, and with which versions, they were made."""
    then = replace(one.origin, created=other.origin.created, versions=other.origin.versions)
    names = [() if each.accepted is None else each.accepted.labels for each in (one, other)]
    return replace(one, origin=then) == other and names[0] == names[1]
