"""What a backend samples at a time when it cannot know how a node is: that is not the same as a node that says nothing.

An instant at which there is such a sample does not count, whatever the other nodes said.
"""

from __future__ import annotations

from typing import Final

NOT_KNOWN: Final = "highwater_node_not_known"
