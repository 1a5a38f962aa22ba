"""A stream of batches, watched against a tolerance.

=============  ========================================================================================
`monitor`      `Monitor`: the public class
`verdict`      `BatchVerdict`: what came of adding a batch
`state`        what a history comes to; worked out from the batches, never stored
`history`      the SQLite file: one transaction for each call; `schema` and its versions; `records`
`keeping`      the reference, inside the file
`measuring`    from a batch to what is kept of it; `changes`: what a change does to the alarms
`keys`         what batches are called, and their order; `rates`: how many false alarms are acceptable
`alerting`     a program that is told of alarms
=============  ========================================================================================
"""

from nammd.monitor.monitor import Monitor
from nammd.monitor.verdict import BatchVerdict

__all__ = ["BatchVerdict", "Monitor"]
