"""What must hold after every single event of a simulated cluster.

The checks of the pipeline judge a run afterwards from what nodes reported. :mod:`.reported` judges that while the run
goes on, by the same rules (``highwater_runtime.model``). The others look at the nodes themselves: at each live core's
own log and state, right after the event that touched them. So they catch what a node does not report; names are the
same where they look for the same thing.

A violation is written down, not raised: with a switch off it is what the run is for.
"""

from highwater_runtime.sim.invariants.monitor import InvariantMonitor
from highwater_runtime.sim.invariants.rest import AtRest
from highwater_runtime.sim.invariants.violation import Violation

__all__ = ["AtRest", "InvariantMonitor", "Violation"]
