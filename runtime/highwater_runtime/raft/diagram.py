"""The transitions of the quorum's states as a table in Markdown: ``python -m highwater_runtime.raft.diagram``.

It is part of ``docs/quorum.md``; a test compares the page with :data:`~highwater_runtime.raft.states.MAY_GO_TO`.
"""

from __future__ import annotations

import sys

from highwater_runtime.raft.states import MAY_GO_TO


def transition_table() -> str:
    """Return one row for each old state and one column for each new one. A cell says how the epoch changes."""
    names = [state.NAME for state in MAY_GO_TO]  # type: ignore[attr-defined]
    lines = [f"| from \\ to | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for old, row in MAY_GO_TO.items():
        cells = (row[new].value if new in row else "" for new in MAY_GO_TO)
        lines.append(f"| **{old.NAME}** | {' | '.join(cells)} |")  # type: ignore[attr-defined]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(transition_table() + "\n")
