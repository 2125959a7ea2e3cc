"""Every mutant by its name."""

from __future__ import annotations

from typing import Final

from highwater_chaos.campaign.mutants.mutant import Mutant

_ALL: Final[tuple[Mutant, ...]] = ()

CATALOGUE: Final[dict[str, Mutant]] = {mutant.name: mutant for mutant in _ALL}


def mutant_named(name: str) -> Mutant:
    """The mutant of that name. Raises ``KeyError`` if there is none."""
    return CATALOGUE[name]
