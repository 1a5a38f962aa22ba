"""Arguments that say where data are: a file, a folder, standard input, or an address."""

from __future__ import annotations

from pathlib import Path


class Place(type(Path())):  # type: ignore[misc]
    """Data that are not in a local file; it passes for a path, and is printed without passwords."""

    given: str

    def exists(self, **options: bool) -> bool:
        """Say that it may be there, which only reading it can tell."""
        return True

    def __str__(self) -> str:
        if "given" not in self.__dict__:  # a part of it, such as its parent
            return str(super().__str__())
        from nammd.data.readers.places import shown

        return shown(self.given)


def place(text: str) -> Path:
    """Return an argument as a path, or as a place elsewhere."""
    if text != "-" and "://" not in text:
        return Path(text)
    found = Place(text)
    found.given = text
    return found


def given(path: Path) -> str | Path:
    """Return what readers take."""
    return path.given if isinstance(path, Place) else path


def chosen(values: list[str] | None, number: int) -> str | None:
    """Return the value of an option that may be given for each file: the last one serves for the rest."""
    if not values:
        return None
    return values[min(number, len(values) - 1)] or None
