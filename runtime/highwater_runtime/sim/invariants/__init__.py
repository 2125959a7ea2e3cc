"""What must hold after every single event of a simulated cluster.

The checks of the pipeline judge a run afterwards from what nodes reported. These look at the nodes themselves while
the run goes on: at each live core's own log and state, right after the event that touched them. The two are written
apart on purpose, so that each can catch the other's blindness; names are the same where they look for the same thing.

A violation is written down, not raised: with a switch off it is what the run is for.
"""

from highwater_runtime.sim.invariants.monitor import InvariantMonitor
from highwater_runtime.sim.invariants.rest import AtRest
from highwater_runtime.sim.invariants.violation import Violation

__all__ = ["AtRest", "InvariantMonitor", "Violation"]
