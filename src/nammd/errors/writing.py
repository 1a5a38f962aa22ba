"""Writing files so that they are complete or not there at all.

A file is written under a name of its own beside the target, and then renamed. While it is written its writer
holds a lock on it, so what a killed writer has left behind can be told from what is still being written, and
the next one to write the same file takes it away.

`indented` lays JSON out for people and programs, at the speed of the compiled encoder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nammd.errors.addresses import shown

_UNFINISHED = ".unfinished"
_OPEN = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_OLD = 3600.0
"""Where files cannot be locked, what is older than so many seconds was left behind."""


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step: to a temporary file beside it, which is then renamed.

    No symbolic link is followed. A device or a pipe is written to as it is. A file that is replaced keeps its
    mode, a new one has that of its folder, and one that may not be written is refused.
    """
    require_writable(path)
    with _named(path):
        if _is_stream(path):
            links = 0 if _OPEN.fullmatch(os.path.abspath(path)) else _NO_LINKS
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | links)
            try:
                _write_all(handle, content)
            finally:
                os.close(handle)
            return
        _remove_leftovers(path)
        for _ in range(3):
            with contextlib.suppress(FileNotFoundError):  # taken for a leftover, just before it was locked
                _replace(path, content)
                return
        _replace(path, content)


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written, or that its mode says not to write, and symbolic links.

    Whoever may do everything (root) may write a read-only file too, but would not expect it to be replaced.
    A link may lead to where somebody else wants something to be written.
    """
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {shown(path)!r}: there is no folder {shown(path.parent)!r}")
    if _is_stream(path):
        return  # it needs nothing beside it
    if path.is_symlink():
        raise PermissionError(
            f"cannot write {str(path)!r}: it is a symbolic link, and these are not followed; name the file "
            "that it leads to, or remove the link"
        )
    if path.exists() and (not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222):
        raise PermissionError(
            f"cannot write {str(path)!r}: it is read-only; choose another name, or remove it"
        )
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(
            f"cannot write {str(path)!r}: no permission to write in the folder {str(path.parent)!r}"
        )


def _replace(target: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_UNFINISHED)
    try:
        _lock(handle)
        try:
            _write_all(handle, content)
            os.fsync(handle)  # or a power cut could leave the new name with nothing in it
            os.chmod(temporary, _mode(target))
            os.replace(temporary, target)  # if that has become a link by now, the link is replaced
        finally:
            os.close(handle)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _is_stream(path: Path) -> bool:
    """Tell whether a path is that of a device, of a pipe, or of what this process has open already."""
    if _OPEN.fullmatch(os.path.abspath(path)):
        return path.exists()
    with contextlib.suppress(FileNotFoundError):
        mode = path.lstat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
    return False


def _mode(target: Path) -> int:
    """Return the mode of the file that is replaced; of a new one, whoever may read its folder may read it."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(target.lstat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o644 & ~umask & (target.parent.stat().st_mode | 0o600)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Give an error of the system, such as a full disk, the name of the file that was to be written."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.errno is None:
            raise
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _remove_leftovers(target: Path) -> None:
    """Take away what killed writers of the same file have left."""
    start = f".{target.name}."
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:  # no reason not to write
        for entry in entries:
            if entry.name.startswith(start) and entry.name.endswith(_UNFINISHED) and _is_left(entry.path):
                Path(entry.path).unlink(missing_ok=True)


def _is_left(path: str) -> bool:
    """Tell whether nobody writes a file any more."""
    try:
        handle = os.open(path, os.O_RDWR | _NO_LINKS)
    except OSError:
        return False
    try:
        held = _lock(handle)
        if held is None:
            return time.time() - os.stat(path).st_mtime > _OLD
        return held
    finally:
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Lock a file until it is closed, and tell whether it was free; None where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


_encoded = json.JSONEncoder(allow_nan=False).encode
_quoted = json.encoder.encode_basestring_ascii  # which takes text alone


def indented(value: Any, gap: str = "\n") -> str:
    r"""Return JSON in which mappings are indented, and what is in a list stands on a line of its own.

    The standard library indents in Python, item by item, and a tolerance of ten thousand columns is half a
    million items; a line is encoded in one go.

    >>> print(indented({"a": [1, {"of": [2.5, None]}], "b": {"c": {}}}))
    {
     "a": [
      1,
      {"of": [2.5, null]}
     ],
     "b": {
      "c": {}
     }
    }
    """
    deeper = f"{gap} "
    if isinstance(value, dict) and value:
        parts = [f"{_quoted(name)}: {indented(each, deeper)}" for name, each in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(parts)}{gap}}}"
    if isinstance(value, (list, tuple)) and value:
        return f"[{deeper}{_lines(value, f',{deeper}')}{gap}]"
    return _encoded(value)


def _lines(values: Sequence[Any], between: str) -> str:
    if {dict, list, tuple}.isdisjoint(map(type, values)):  # then all go in one call
        return json.JSONEncoder(allow_nan=False, separators=(between, ": ")).encode(values)[1:-1]
    return between.join(map(_encoded, values))
