"""The command that was given, as one that can be run again."""

from __future__ import annotations

import shlex
from enum import Enum
from typing import Any

import click


def command_again() -> str | None:
    """Return the running command with all options that were given; None outside of one."""
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    words = ["nammd", str(context.command.name)]
    options: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if value is None or value == parameter.get_default(context):
            continue
        if not isinstance(parameter, click.Option):
            words += [_text(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
        elif parameter.is_flag:
            options += [parameter.opts[0] if value else (parameter.secondary_opts or parameter.opts)[0]]
        else:
            options += [max(parameter.opts, key=len), _text(value)]
    return shlex.join([*words, *options])


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)
