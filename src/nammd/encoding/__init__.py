"""How the columns of a table become numbers: fitted on a reference, then frozen."""

from nammd.encoding.columns import Column, LeftOut
from nammd.encoding.encoding import Encoding

__all__ = ["Column", "Encoding", "LeftOut"]
