"""A stream of batches, watched against a tolerance.

==============  =======================================================================================
`monitor`       `Monitor`: the public class; `history_view`: the part of it that only reads
`verdict`       `BatchVerdict`: what came of adding a batch
`state`         what a history comes to; worked out from the batches, never stored
`history`       the SQLite file (`file`, `schema`): one transaction for each call
`chain`         its records, each with the digest of the one before; `batch`, `records`: what they hold
`replay`        what the records come to; `repair`: what can be read of a damaged history
`storage`       the reference inside the file, and the gate that is made of it
`measuring`     from a batch to what is kept of it
`alarms`        what a change of the batches does to the alarms, and who is told of them
`keys`          what batches are called, and their order; `rates`: how many false alarms are acceptable
`pooling`       the last days together
`page`          the page about a stream, without a script; `serving`: the same, live
==============  =======================================================================================
"""

from nammd.monitor.monitor import Monitor
from nammd.monitor.verdict import BatchVerdict

__all__ = ["BatchVerdict", "Monitor"]
