"""An executable specification: replication of one partition as a state machine, and the steps that it permits.

It says what brokers and controllers may do, written from the rules (Apache Kafka 4.0, KIP-101, KIP-279, KIP-320,
KIP-497, KIP-841, KIP-903) and from what the public TLA+ models of Kafka state, and not from the code of the nodes.
``docs/specification.md`` has the machine as a table. The state has two parts:

* :mod:`.decisions`: what was committed about the partition, in the order of the metadata. Each decision is judged
  against the one before it, and what a controller says of a proposal against the proposal (:mod:`.judged`).
* :mod:`.machine`: the replicas. Each event of a broker is a step of its replica. A step is refused if its guard does
  not hold in the state that the earlier steps led to. :mod:`.stretches` takes long stretches of like steps at once.

What cannot be known is never refused. A replica that has not been heard of has an unknown role and an unknown log. What
one node did before another is known only if the recorded order of events is exact (``Settings.exact_order``: in the
simulator). Guards that compare replicas at one moment are left out otherwise; each node's own order, the order of the
metadata and what the log of a leader epoch holds do not depend on clocks.
"""

from highwater_pipeline.specification.decisions import Decisions, check_decisions
from highwater_pipeline.specification.judged import check_judgements
from highwater_pipeline.specification.machine import Machine
from highwater_pipeline.specification.refusal import RULES, Refusal
from highwater_pipeline.specification.stretches import StretchMachine

__all__ = ["RULES", "Decisions", "Machine", "Refusal", "StretchMachine", "check_decisions", "check_judgements"]
