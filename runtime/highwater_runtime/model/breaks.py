"""What a partition promises ends with an allowed unclean election, and with the disk of an only replica.

*Example.* ``unclean.leader.election.enable`` is true. Brokers 0 and 1 have records 0 to 9, and both are dead. Broker 2,
which left the ISR at offset 5, is elected: records 5 to 9 are gone. That is what the setting asks for, so nobody may
call it a loss. If a record that broker 2 commits from then on is lost by a clean election, it is one.

*The trap* is a deposed leader that does not know of the election. It is the only member of its ISR, as far as it knows,
so it goes on to commit and to acknowledge. So what is reported in a leader epoch below that of the election counts for
what was before, however late it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from highwater_runtime.model.decisions import Decided, elects_from_outside


class Breaks:
    """Finds the breaks of one partition; events come in order.

    * The settings allow an unclean election, and the committed states show one: a new leader that was not in the ISR
      before. (A leader's proposal and the election of the proposed replica may be one state in KRaft mode: that is
      clean.)
    * The partition has one replica, and its broker loses its disk (a log is created where one had been). Kafka keeps
      what is committed as long as one in-sync replica lives. A power loss alone is no break: what was flushed must be
      there.
    """

    def __init__(self, accepted: Iterable[int] = ()) -> None:
        """``accepted``: the metadata offsets of proposals that the controller accepted; :meth:`accept` adds others."""
        self.state: Decided | None = None
        """The newest committed one, which a deletion does not change."""
        self._accepted = set(accepted)
        self._have_logs: set[int] = set()

    def accept(self, metadata_offset: int) -> None:
        """The controller accepted a proposal, which became the state at this metadata offset."""
        self._accepted.add(metadata_offset)

    def decide(self, state: Decided, *, may_be_unclean: bool) -> bool:
        """Take in the first report of a committed state; return whether it is a break. Who reports in a lower leader
        epoch than that of the state reports of what was before."""
        before = self.state
        if state.reason == "deleted" or (before is not None and state.metadata_offset <= before.metadata_offset):
            return False
        self.state = state
        return (
            may_be_unclean
            and before is not None
            and state.leader_epoch > before.leader_epoch
            and elects_from_outside(before, state)
            and state.metadata_offset not in self._accepted
        )

    def load(self, broker: int, *, is_created: bool) -> bool:
        """A broker has a log from now on; return whether that is a break."""
        is_gone = is_created and broker in self._have_logs
        self._have_logs.add(broker)
        return is_gone and self.is_only_replica(broker)

    def is_only_replica(self, broker: int) -> bool:
        """Whether a broker has the only replica: if its disk is replaced, that is a break."""
        return self.state is not None and [*self.state.replicas] == [broker]

    def remove(self, broker: int) -> None:
        """A broker has no log any more, because it deleted it."""
        self._have_logs.discard(broker)
