from typing import Any
def body(*a: Any) -> Any: return ""
sentence = notes = body
