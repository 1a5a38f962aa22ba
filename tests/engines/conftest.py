"""Triton's interpreter, which runs the programs of a GPU step by step where there is none."""

import sys
from collections.abc import Iterator
from unittest.mock import patch

import pytest


@pytest.fixture(autouse=True, scope="module")
def _look_through_the_language_once() -> Iterator[None]:
    """When a program begins, not in every call of a function inside it, which changes nothing any more.

    That would be half of all time. Versions of Triton that go about it in another way are left alone.
    """
    interpreter = sys.modules.get("triton.runtime.interpreter")
    if not all(hasattr(interpreter, name) for name in ("_patch_lang", "_LangPatchScope", "tl")):
        yield
        return
    look, language = interpreter._patch_lang, interpreter.tl

    def once(function):
        seen = [each for each in function.__globals__.values() if each is language or each is language.core]
        # What was found has been replaced, by something that is no builtin of Triton.
        begun = seen and not any(language.core.is_builtin(each.dot) for each in seen)
        return interpreter._LangPatchScope() if begun else look(function)

    with patch.object(interpreter, "_patch_lang", once):
        yield
