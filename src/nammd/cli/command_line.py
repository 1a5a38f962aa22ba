"""The command that was given, as one that can be run again."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from typing import Any

from typer.models import ArgumentInfo, OptionInfo

from nammd.errors.addresses import is_address, without_addresses

_GIVEN: ContextVar[str | None] = ContextVar("command", default=None)


def remember(name: str, parameters: Sequence[inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Note the running command with all that was given to it."""
    arguments: list[str] = []
    options: list[str] = []
    for parameter in parameters:
        value = given.get(parameter.name)
        if value is None or value == parameter.default:
            continue
        each = list(value) if isinstance(value, (list, tuple)) else [value]
        info = next((m for m in getattr(parameter.annotation, "__metadata__", ()) if _is_info(m)), None)
        if isinstance(info, ArgumentInfo):
            arguments += [_text(one) for one in each]
            continue
        names = [text for text in getattr(info, "param_decls", None) or () if text.startswith("--")]
        option = names[0].partition("/")[0] if names else "--" + parameter.name.replace("_", "-")
        for one in each:
            options += [option] if one is True else [option, _text(one)]
    _GIVEN.set(shlex.join(["nammd", name, *arguments, *options]))


def command_again() -> str | None:
    """Return the running command with all options that were given; None outside of one."""
    return _GIVEN.get()


def _is_info(thing: Any) -> bool:
    return isinstance(thing, (ArgumentInfo, OptionInfo))


def _text(value: Any) -> str:
    text = str(value.value if isinstance(value, Enum) else value)
    return without_addresses(text, (text,) if is_address(text) else ())
