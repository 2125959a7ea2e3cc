"""Breaks and heals a real Linux machine, within its own run only, and leaves nothing behind.

**Theory of operation.** Everything that is made here, a network namespace as much as a cut link, is a
:class:`~.resource.Resource`: a small value that carries how it is made, how it is undone and what is left of it. A
:class:`~.run.MachineRun` writes down that it is going to make one (fsynced, with how to undo it) *before* it does so,
and holds the run's lock until it is made; so a process that finds the lock free finds in the journal everything that
can be there. Three can undo what the journal names, each alone and in any order, because undoing is idempotent:

1. the run itself (:meth:`~.run.MachineRun.undo`, :meth:`~.run.MachineRun.close`);
2. its guardian, a process of its own session: each fault at its deadline, and everything once the run's owner is gone,
   in whatever way it went;
3. ``highwater heal``, from the journals alone, when both were killed.

Names and places carry the run, so that nothing outside it is ever touched: namespaces ``hw-<run>-…``, images and
mounts below the run's directory, processes known by pid *and* start time and marked in their environment.

Knows nothing of brokers, experiments or the harness; imports nothing from them.
"""
