"""A stream of batches, watched against a tolerance.

=============  ========================================================================================
`monitor`      `Monitor`: the public class; `looking`: the part of it that only reads
`verdict`      `BatchVerdict`: what came of adding a batch
`state`        what a history comes to; worked out from the batches, never stored
`history`      the SQLite file: one transaction for each call; `schema` and its versions; `records`
`keeping`      the reference, inside the file
`measuring`    from a batch to what is kept of it; `changes`: what a change does to the alarms
`keys`         what batches are called, and their order; `rates`: how many false alarms are acceptable
`held`         what batches are held against; `pooling`: the last days together; `table`: as a table
`alerting`     a program that is told of alarms
`page`         the page about a stream, without a script; `serving`: the same, live
=============  ========================================================================================
"""

from nammd.monitor.monitor import Monitor
from nammd.monitor.verdict import BatchVerdict

__all__ = ["BatchVerdict", "Monitor"]
