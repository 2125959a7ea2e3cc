"""The diagram of the quorum's states, drawn from the transition table: ``python -m highwater_runtime.raft.diagram``.

It is part of ``docs/quorum.md``; a test holds the two to each other.
"""

from __future__ import annotations

import sys

from highwater_runtime.raft.states import MAY_GO_TO


def state_diagram() -> str:
    """Mermaid source. Each arrow is one entry of the table, labelled with what the epoch does."""
    lines = ["stateDiagram-v2", "    [*] --> unattached"]
    for old, row in MAY_GO_TO.items():
        lines += [f"    {old.NAME} --> {new.NAME}: {rule.value}" for new, rule in row.items()]  # type: ignore[attr-defined]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(state_diagram() + "\n")
