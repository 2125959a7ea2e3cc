"""What a mutant is."""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One rule changed in one place.

    In the function ``where`` (``module:Class.function`` below ``highwater_runtime``) the text ``old``, which stands
    there exactly once, becomes ``new``. ``breaks`` says which rule that is, in words.
    """

    name: str
    where: str
    old: str
    new: str
    breaks: str
    mode: str = ""
    """The mode of the clusters that have this rule: kraft, zookeeper, or both (empty)."""
    harmless: str = ""
    """Why no check can find it, for it loses nothing that is promised; empty for bugs."""
