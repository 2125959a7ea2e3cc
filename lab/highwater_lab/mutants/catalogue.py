"""Every mutant by its name: the known set in the order of areas, the one that is held out (:mod:`.held_out`), and the
one that nobody wrote (:mod:`.systematic`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from highwater_lab.mutants.controllers import CONTROLLERS
from highwater_lab.mutants.held_out import HELD_OUT
from highwater_lab.mutants.logs import LOGS
from highwater_lab.mutants.mutant import Mutant
from highwater_lab.mutants.quorum import QUORUM
from highwater_lab.mutants.replication import REPLICATION
from highwater_lab.mutants.services import SERVICES
from highwater_lab.mutants.systematic import Systematic
from highwater_lab.mutants.zookeeper import ZOOKEEPER

CATALOGUE: Final[dict[str, Mutant]] = {
    mutant.name: mutant for mutant in (*REPLICATION, *LOGS, *QUORUM, *CONTROLLERS, *ZOOKEEPER, *SERVICES)
}

"""The known set."""

SETS: Final[dict[str, Mapping[str, Mutant]]] = {
    "known": CATALOGUE,
    "held-out": HELD_OUT,
    "systematic": Systematic(),
}
"""No name is in two of them."""


def set_of(name: str) -> str:
    """The name of the set in which the mutant of that name is. Raises ``KeyError`` if there is none."""
    for which, mutants in SETS.items():
        if name in mutants:
            return which
    raise KeyError(name)


def mutant_named(name: str) -> Mutant:
    """The mutant of that name, of any set. Raises ``KeyError`` if there is none."""
    return SETS[set_of(name)][name]
