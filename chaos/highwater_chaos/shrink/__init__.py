"""Make a small experiment file that fails in the same way as a run (delta debugging).

A run of random faults is hard to read: dozens of faults, of which two or three matter. Shrinking finds those:

1. :mod:`explicit` writes out what the schedule did, each step at its time: nothing is drawn, awaited or repeated any
   more, and each fault has a length; :mod:`timeline` cuts it.
2. :mod:`reductions` proposes smaller experiments: fewer steps, shorter waits, fewer nodes, partitions and clients.
3. :mod:`search` runs the proposals in the simulator (:mod:`trial`) and keeps each one that still shows the anomaly.

The result depends on the run alone: proposals come in a fixed order, and each one is run with fixed seeds.
"""

from highwater_chaos.shrink.file import file_text
from highwater_chaos.shrink.search import LEAST_RUNS, CannotShrinkError, Shrunk, shrink
from highwater_chaos.shrink.size import Size, size_of

__all__ = ["LEAST_RUNS", "CannotShrinkError", "Shrunk", "Size", "file_text", "shrink", "size_of"]
