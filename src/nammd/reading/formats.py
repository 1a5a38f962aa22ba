"""Which format a file or folder has, and one sentence for whatever is wrong with it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from nammd.errors.limits import Bounded
from nammd.reading.charsets import Transcoded, not_utf8

Format = Literal["CSV", "TSV", "Parquet", "Arrow", "JSON lines", "NPY", "NPZ", "Excel", "images"]

EXTENSIONS: dict[str, Format] = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".tab": "TSV",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".json": "JSON lines",
    ".npy": "NPY",
    ".npz": "NPZ",
    ".xlsx": "Excel",
    ".xlsm": "Excel",
}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".xz")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")

_ELSEWHERE = {
    **dict.fromkeys((".xls", ".xlsb", ".ods"), "it is a workbook of another kind; save it as .xlsx or .csv"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), "it is an archive of files; unpack it first"),
    **dict.fromkeys(
        (".txt", ".dat"), "its extension does not tell the format; rename it to .csv, .tsv or .jsonl"
    ),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "it is a database; give sqlite:///FILE and a query"),
    **dict.fromkeys((".duckdb",), "it is a database; give duckdb:///FILE and a query"),
    **dict.fromkeys((".pkl", ".pickle"), "loading it would run code; save it as Parquet or NPY"),
}
"""What to do about files of other kinds that people have."""

ENDINGS = frozenset((*EXTENSIONS, *COMPRESSIONS, *IMAGES, *_ELSEWHERE))
"""All that are known, whether they can be read or not."""

_TEXT = ("CSV", "TSV", "JSON lines")
IN_FOLDERS: tuple[Format, ...] = ("Parquet", "CSV", "TSV", "JSON lines")
"""Formats that folders of many files have, besides images."""

# How files begin that say what they are.
_MAGIC: dict[bytes, str] = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\x93NUMPY": "NPY",
    b"PK\x03\x04": "NPZ",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\xfd7zXZ": "xz",
    b"\x89PNG": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"%PDF": "PDF",
    b"FEA1": "Feather version 1",
}


def format_of(path: Path) -> Format:
    """Return the format of a file by its extension, or of a folder by what is in it."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there; check the name and the folder")
    if path.is_dir():
        return _format_of_folder(path)
    extension, compressed = _extension(path)
    if extension in IMAGES:
        raise ValueError(f"{path} is a single image; give the folder that it is in")
    if extension not in EXTENSIONS:
        if extension in _ELSEWHERE:
            raise ValueError(f"{path} cannot be read: {_ELSEWHERE[extension]}")
        known = ", ".join(EXTENSIONS)
        raise ValueError(
            f"{path} has the unknown extension {extension!r}; known are {known}, the text formats also "
            "with .gz, .bz2, .xz or .zst, and folders of Parquet, CSV or JSON lines files, or of images"
        )
    if compressed and EXTENSIONS[extension] not in _TEXT:
        raise ValueError(f"{path} is compressed twice over; unpack it first")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: it has no bytes at all")
    return EXTENSIONS[extension]


def _extension(path: Path) -> tuple[str, bool]:
    """Return the extension that tells the format, and whether another one says that the file is packed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compressed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    return suffixes[-2] if compressed and len(suffixes) > 1 else suffixes[-1] if suffixes else "", compressed


def files_in(folder: Path, extensions: tuple[str, ...]) -> list[Path]:
    """Return the files below a folder with one of the extensions, in the order of their names.

    Names that begin with a dot or an underscore are left out: they are not data by convention.
    """
    return sorted(
        path
        for path in folder.rglob("*")
        if (path.suffix.lower() in extensions or _extension(path)[0] in extensions)
        and path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _format_of_folder(folder: Path) -> Format:
    extensions: dict[Format, tuple[str, ...]] = {
        kind: tuple(extension for extension, what in EXTENSIONS.items() if what == kind)
        for kind in IN_FOLDERS
    }
    extensions["images"] = IMAGES
    found = [kind for kind, known in extensions.items() if files_in(folder, known)]
    if len(found) > 1:
        raise ValueError(
            f"{folder} has files of several formats ({', '.join(found)}); give a folder that has only one of "
            "them"
        )
    if not found:
        raise ValueError(
            f"{folder} is a folder without Parquet, CSV or JSON lines files or images; give a file, or "
            "another folder"
        )
    return found[0]


def text_files_in(folder: Path, kind: Format) -> list[Path]:
    """Return the files of a text format below a folder, in the order of their names."""
    return files_in(folder, tuple(extension for extension, what in EXTENSIONS.items() if what == kind))


def suffix_of(head: bytes) -> str:
    """Return the extension of the format that a file begins like; empty for text."""
    what = next((what for magic, what in _MAGIC.items() if head.startswith(magic)), "")
    return _SUFFIXES.get(what, "")


_SUFFIXES = {
    "Parquet": ".parquet", "Arrow": ".arrow", "NPY": ".npy", "NPZ": ".npz", "gzip": ".gz", "bzip2": ".bz2",
    "Zstandard": ".zst", "xz": ".xz",
}  # fmt: skip


def require_magic(path: Path, expected: Format) -> None:
    """Raise an error where a binary file does not begin as its extension promises."""
    with path.open("rb") as file:
        head = file.read(16)
    if not any(head.startswith(magic) for magic, what in _MAGIC.items() if what == expected):
        raise ValueError(f"{path} is not {_article(expected)} file{_looks_like(head)}")


def require_text(path: Path, head: bytes, wide: bool = False) -> None:
    """Raise an error where a text file begins like something else; `head` is already unpacked.

    Before it is decoded it may be `wide`: text in UTF-16 has zeros.
    """
    if any(head.startswith(magic) for magic in _MAGIC) or (b"\x00" in head and not wide):
        raise ValueError(f"{path} is not a text file{_looks_like(head)}")
    if not head.strip():
        raise ValueError(f"{path} is empty: it has nothing but blank lines")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise ValueError(
            f"{path} holds a web page or XML, by its content; was it an error when it was fetched?"
        )


def open_text(path: Path, charset: str = "utf-8") -> Any:
    """Open a text file for reading bytes of UTF-8, unpacked where its extension says that it is packed."""
    packed = _open_packed(path)
    if path.suffix.lower() in COMPRESSIONS:
        packed = Bounded(packed, path.stat().st_size, str(path))
    return packed if charset in ("utf-8", "utf-8-sig") else Transcoded(packed, charset)


def require_text_fits(path: Path) -> None:
    """Refuse packed text that unpacks to far more than it is, where it takes long to find out otherwise."""
    if path.suffix.lower() in COMPRESSIONS:
        with open_text(path) as file:
            while file.read(1 << 20):
                pass


def _open_packed(path: Path) -> Any:
    extension = path.suffix.lower()
    if extension == ".gz":
        return gzip.open(path, "rb")
    if extension == ".bz2":
        return bz2.open(path, "rb")
    if extension == ".xz":
        return lzma.open(path, "rb")
    if extension == ".zst":
        return optional("pyarrow", "app", "reading this file").CompressedInputStream(str(path), "zstd")
    return path.open("rb")


@contextmanager
def explained(path: Path, what: str) -> Iterator[None]:
    """Turn what the libraries raise about a damaged file into a sentence that names the file."""
    pa = optional("pyarrow", "app", f"reading {what} files")
    try:
        yield
    except UnicodeError:
        raise not_utf8(path) from None
    except PermissionError:
        raise ValueError(f"{path} cannot be read: you have no permission to") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(
            f"{path} cannot be read as {what}: it is truncated or damaged ({detail[:200]})"
        ) from None


def optional(module: str, extra: str, purpose: str) -> Any:
    """Import a module that not every installation has."""
    try:
        return import_module(module)
    except ImportError:
        package = {"PIL": "pillow", "sklearn": "scikit-learn"}.get(
            module.partition(".")[0], module.partition(".")[0]
        )
        how = f"'nammd[{extra}]'" if extra else package
        raise ImportError(f"{purpose} needs {package}; install it with: pip install {how}") from None


def _looks_like(head: bytes) -> str:
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            return f" but {what} by its content; give it the extension of its format"
    return "; its content is something else"


def _article(what: str) -> str:
    return f"{'an' if what[0] in 'AN' else 'a'} {what}"
