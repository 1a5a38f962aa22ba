from typing import Any
def body(*a: Any) -> Any: return ""
outcomes = draw = sentence = notes = body
