"""Files and mixed tables: `read`, `batches`, and the `Encoding` of their columns."""

from nammd.data.encoding import Column, Encoding, LeftOut
from nammd.data.readers import Loaded, batches, read
from nammd.data.written import Reading

__all__ = ["Column", "Encoding", "LeftOut", "Loaded", "Reading", "batches", "read"]
