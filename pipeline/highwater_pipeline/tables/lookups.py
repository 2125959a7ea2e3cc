"""wrong-lookup: a look-up of an offset by time stamp did not return the first record that is not earlier.

Example: offsets 0 to 2 are of 10, 20 and 30 ms. A client asks for 15 and gets offset 2. A consumer that goes back to a
moment skips offset 1 then, and nobody notices: each offset that it reads is as it should be.

Whoever looks up an offset reads the log of the same leader at once, and writes down what contradicts the response
(``highwater_chaos.workload.lookups``). So there is nothing to compare here, and what retention or a later leader did to
the log does not matter. The history of other software has no such operations, and then nothing is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_MOST: Final = 10


@dataclass(frozen=True, slots=True)
class LookupFindings:
    """How many look-ups completed ok, and how many of them are ``wrong``, with ``examples``."""

    done: int
    wrong: int
    examples: tuple[dict[str, Any], ...]


class Lookups:
    """Takes in look-ups as they end; then :meth:`findings`."""

    def __init__(self) -> None:
        self.operations = 0
        self._wrong = 0
        self._examples: Final[list[dict[str, Any]]] = []

    def add(self, items: pa.StructArray, clients: Sequence[str | None], rows: npt.NDArray[np.int64]) -> None:
        """Take in micro-operations: of each the client, and the row of its end. They come in the order of the rows."""
        self.operations += len(items)
        wrong = np.flatnonzero(pc.is_valid(items.field("altered")).to_numpy(zero_copy_only=False))
        self._wrong += len(wrong)
        for at in wrong[: max(0, _MOST - len(self._examples))].tolist():
            self._examples.append(_example(items[at].as_py(), clients[at] or "a client", int(rows[at])))

    def findings(self) -> LookupFindings:
        return LookupFindings(self.operations, self._wrong, tuple(self._examples))


def _example(item: dict[str, Any], client: str, row: int) -> dict[str, Any]:
    offset, partition = item["offset"], item["key"]
    found = "no offset" if offset is None else f"offset {offset}"
    return {
        "partition": partition,
        "timestamp": item["value"],
        "offset": offset,
        "altered": item["altered"],
        "rows": [{"table": "operations", "index": row}],
        "story": (
            f"{client[0].upper()}{client[1:]} asked for the first record of {partition} at or after {item['value']} ms"
            f" (row {row}) and got {found}, but {item['altered']}."
        ),
    }
