"""Linearizability of registers: reads, writes and compare-and-set by key, with unknown outcomes.

``check_registers(load_run(path))`` judges in this process; ``check_registers_on_spark(path)`` (in ``spark``) gives the
same answer with one task per key. Theory of operation:

* ``registers`` makes each key's operations out of a history, and leaves out those of unknown outcome that nothing
  depends on. A history is linearizable if every key's is.
* Where no value is written twice, ``zones`` decides in the time of a sort, cas and unknown outcomes included.
* Otherwise ``search`` (on the board of ``timeline``) looks for a linearization: Wing and Gong's search, just in time,
  with Lowe's memoisation. What it finds is verified by ``zones``. It counts steps and stops at a limit.
* ``decide`` picks one of the two and finds the longest prefix that fits; ``judge`` says it in words.

What is not decided within the limits is unknown, never valid. References: Wing and Gong 1993, Gibbons and Korach 1997,
Lowe 2017.
"""

from highwater_pipeline.linearizability.check import KeyVerdict, check_key, check_registers
from highwater_pipeline.linearizability.decide import Limits

__all__ = ["KeyVerdict", "Limits", "check_key", "check_registers"]
