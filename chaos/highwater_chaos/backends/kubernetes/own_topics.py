"""Topics that a run makes on a cluster that it borrows, in the status of its experiment: the operator deletes them."""

from __future__ import annotations

from collections.abc import Iterable

from highwater_chaos.backends.attach.topics import Made
from highwater_chaos.backends.kubernetes.journal import StatusJournal


def write_own_topics(journal: StatusJournal, made: Made, ever: Iterable[str]) -> None:
    """Note them. ``ever``: all that were noted before, too: fields of a status are merged, so an id that does not hold
    any more is taken away by its topic's name."""
    ids = {name: made.ids.get(name) for name in ever}
    topics = {"clusterId": made.cluster_id, "names": list(made.topics), "ids": ids} if made.topics else None
    journal.write(lambda _: {"ownTopics": topics})
