"""Every mutant by its name, in the order of areas."""

from __future__ import annotations

from typing import Final

from highwater_chaos.campaign.mutants.controllers import CONTROLLERS
from highwater_chaos.campaign.mutants.logs import LOGS
from highwater_chaos.campaign.mutants.mutant import Mutant
from highwater_chaos.campaign.mutants.quorum import QUORUM
from highwater_chaos.campaign.mutants.replication import REPLICATION
from highwater_chaos.campaign.mutants.services import SERVICES
from highwater_chaos.campaign.mutants.zookeeper import ZOOKEEPER

CATALOGUE: Final[dict[str, Mutant]] = {
    mutant.name: mutant for mutant in (*REPLICATION, *LOGS, *QUORUM, *CONTROLLERS, *ZOOKEEPER, *SERVICES)
}


def mutant_named(name: str) -> Mutant:
    """The mutant of that name. Raises ``KeyError`` if there is none."""
    return CATALOGUE[name]
