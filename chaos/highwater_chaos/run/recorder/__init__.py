"""Convert a run's files to Parquet during the run, in a process of its own.

Clients and nodes write lines to files, each by time. The recorder follows these files, merges them by time, decodes
them, and gives them to ``RunWriter`` in parts. So the harness decodes nothing, and
when the run ends only its last seconds are left to be converted. Memory is bounded: the next part of a file
is read only when the last one has been written.

:mod:`.follow` merges, :mod:`.process` is the process, :class:`Recorder` is the harness's side of it, and :mod:`.dump`
passes the dump of the logs to it.
"""

from highwater_chaos.run.recorder.harness import FROM_BYTES, Recorder

__all__ = ["FROM_BYTES", "Recorder"]
