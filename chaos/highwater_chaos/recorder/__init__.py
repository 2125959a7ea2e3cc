"""A run's files become Parquet while it goes on, in a process of its own.

Clients and nodes write lines to files, each by time. The recorder follows these files, merges them by time, decodes
them, and gives them to :class:`~highwater_pipeline.recording.RunWriter` in parts. So the harness decodes nothing, and
when the run ends only its last seconds are left to be converted. Memory is bounded: a file is read on only when what
was read of it has been written.

:mod:`.follow` merges, :mod:`.process` is the process, :class:`Recorder` is the harness's end of it, :mod:`.dump` its
way to give the dump.
"""

from highwater_chaos.recorder.harness import FROM_BYTES, Recorder

__all__ = ["FROM_BYTES", "Recorder"]
