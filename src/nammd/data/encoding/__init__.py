"""How the columns of a table become numbers: fitted on a reference, then frozen."""

from nammd.data.encoding.columns import Column, LeftOut
from nammd.data.encoding.encoding import Encoding

__all__ = ["Column", "Encoding", "LeftOut"]
