"""The directive ``command-options``: what a command of the command line takes, from the command itself.

The options are read where they are declared, so the pages cannot say anything else.
"""

from __future__ import annotations

import inspect
from enum import StrEnum
from typing import Any, get_args

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.errors import ExtensionError


class CommandOptions(Directive):
    """List the arguments and options of one command, in the groups that ``--help`` has."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        groups: dict[str, nodes.definition_list] = {}
        for parameter in parameters_of(self.arguments[0]):
            declared = parameter.annotation.__metadata__[0]
            entry = nodes.definition_list_item()
            entry += term_of(parameter, declared)
            entry += nodes.definition("", nodes.paragraph(text=text_of(parameter, declared)))
            group = declared.rich_help_panel or ("Options" if is_option(declared) else "Arguments")
            groups.setdefault(group, nodes.definition_list()).append(entry)
        return [node for name, listed in groups.items() for node in (nodes.rubric(text=name), listed)]


def parameters_of(command: str) -> list[inspect.Parameter]:
    try:
        from nammd.cli.app import app
    except ModuleNotFoundError as error:
        raise ExtensionError(f"pages of commands need {error.name}; run: pip install 'nammd[app]'") from error
    *groups, name = command.split()
    commands = app()
    for group in groups:
        [commands] = [each.typer_instance for each in commands.registered_groups if each.name == group]
    [found] = [each for each in commands.registered_commands if each.name == name]
    assert found.callback is not None
    return list(inspect.signature(found.callback).parameters.values())


def term_of(parameter: inspect.Parameter, declared: Any) -> nodes.term:
    if not is_option(declared):
        return nodes.term("", "", nodes.literal(text=declared.metavar.strip("[].")))
    # Within Annotated, the first name given to typer.Option arrives as its default.
    given = (declared.default, *(declared.param_decls or ()))
    names = [name for name in given if isinstance(name, str)] or [f"--{parameter.name.replace('_', '-')}"]
    value = value_of(parameter, declared)
    term = nodes.term()
    for position, name in enumerate(names):
        if position:
            term += nodes.Text(", ")
        term += nodes.literal(text=f"{name} {value}".strip() if position == 0 else name)
    return term


def value_of(parameter: inspect.Parameter, declared: Any) -> str:
    if declared.metavar:
        return str(declared.metavar)
    for kind in (parameter.annotation.__origin__, *get_args(parameter.annotation.__origin__)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return "|".join(kind)
        if kind is bool:
            return ""
    return "NUMBER"


def text_of(parameter: inspect.Parameter, declared: Any) -> str:
    default = parameter.default
    if not is_option(declared) or default in (None, False):
        return str(declared.help)
    return f"{declared.help} By default {default}."


def is_option(declared: Any) -> bool:
    return type(declared).__name__ == "OptionInfo"


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
