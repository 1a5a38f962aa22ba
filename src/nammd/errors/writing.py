"""Writing files so that they are complete or not there at all.

A file is written under a name of its own beside the target, and then renamed. While it is written its writer
holds a lock on it, so what a killed writer has left behind can be told from what is still being written, and
the next one to write the same file takes it away.

`indented` lays JSON out for people and programs, one value to a line, at the speed of the compiled encoder.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nammd.errors.addresses import shown

_UNFINISHED = ".unfinished"
_OLD = 3600.0
"""Where files cannot be locked, what is older than so many seconds was left behind."""


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one step: to a temporary file beside it, which is then renamed.

    A symbolic link stays one, and what it leads to is written. A device or a pipe is written to as it is. A
    file that is replaced keeps its mode; one that may not be written is refused.
    """
    require_writable(path)
    target = Path(os.path.realpath(path))
    with _named(path):
        if target.exists() and not target.is_file():
            with target.open("wb", buffering=0) as stream:
                _write_all(stream.fileno(), content)
            return
        _remove_leftovers(target)
        for _ in range(3):
            with contextlib.suppress(FileNotFoundError):  # taken for a leftover, just before it was locked
                _replace(target, content)
                return
        _replace(target, content)


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written, or that its mode says not to write.

    Whoever may do everything (root) may write a read-only file too, but would not expect it to be replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {shown(path)!r}: there is no folder {shown(path.parent)!r}")
    if target.exists():
        if not os.access(target, os.W_OK) or not target.stat().st_mode & 0o222:
            raise PermissionError(
                f"cannot write {str(path)!r}: it is read-only; choose another name, or remove it"
            )
        if not target.is_file():
            return  # a device or a pipe needs nothing beside it
    if not os.access(target.parent, os.W_OK):
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
            os.replace(temporary, target)
        finally:
            os.close(handle)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _mode(target: Path) -> int:
    """Return the mode of the file that is replaced, or that of any new file; mkstemp makes private ones."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(target.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


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
        handle = os.open(path, os.O_RDWR)
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


def indented(value: Any, gap: str = "\n") -> str:
    r"""Return what ``json.dumps(value, indent=1, allow_nan=False)`` does; the names of mappings must be text.

    The standard library lays text out in Python, item by item, and a tolerance of ten thousand columns is
    half a million lines. Here lists of plain values are encoded in one go, with line breaks as separators.

    >>> print(indented({"a": [1, 2.5], "b": {}}))
    {
     "a": [
      1,
      2.5
     ],
     "b": {}
    }
    """
    deeper = f"{gap} "
    if isinstance(value, dict) and value:
        if not all(isinstance(name, str) for name in value):
            raise TypeError("the names of a mapping must be text")
        parts = [f"{json.dumps(name)}: {indented(each, deeper)}" for name, each in value.items()]
        return f"{{{deeper}{f',{deeper}'.join(parts)}{gap}}}"
    if isinstance(value, (list, tuple)) and value:
        if any(isinstance(each, (dict, list, tuple)) for each in value):
            inside = f",{deeper}".join(indented(each, deeper) for each in value)
        else:
            inside = json.dumps(value, allow_nan=False, separators=(f",{deeper}", ": "))[1:-1]
        return f"[{deeper}{inside}{gap}]"
    return json.dumps(value, allow_nan=False)
