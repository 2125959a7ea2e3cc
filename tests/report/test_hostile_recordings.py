"""Whatever a recording holds, a report is drawn from it or it is refused with the file and the line."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.report.files import BadRunFileError
from highwater_chaos.report.page import write_report

JUNK: list[Any] = [
    None,
    True,
    -1,
    1.5,
    "",
    "<b>",
    [],
    {},
    [[]],
    {"a": 1},
    10**25,
    "../../etc",
    "\u2028\x00",
    "broker-x",
]


def spoilt(found: Any, draw: random.Random) -> Any:
    """A copy with one value somewhere in it replaced or left out."""
    inner = list(found) if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
    if not inner or draw.random() < 0.1:
        return draw.choice(JUNK)
    made, at = copy.copy(found), draw.choice(list(inner))
    if isinstance(made, dict) and draw.random() < 0.2:
        del made[at]
    else:
        made[at] = spoilt(found[at], draw)
    return made


@pytest.mark.parametrize("part", ["operations", "events", "faults", "verdict"])
def test_it_is_drawn_or_refused(part: str, loss: Any, tmp_path: Path) -> None:
    loss.lost(0, 5)
    sound, outcomes = getattr(loss, part), {"drawn": 0, "refused": 0}
    for seed in range(60):
        setattr(loss, part, spoilt(sound, random.Random(seed)))
        if not isinstance(getattr(loss, part), type(sound)):
            continue
        try:
            write_report(loss.write(tmp_path))
            outcome = "drawn"
        except BadRunFileError:
            outcome = "refused"
        outcomes[outcome] += 1
    assert min(outcomes.values()) > 0, outcomes


def test_an_experiment_that_is_no_text_is_refused(loss: Any, tmp_path: Path) -> None:
    (loss.write(tmp_path) / "experiment.yaml").write_bytes(b"spec: \xff")
    with pytest.raises(BadRunFileError, match=r"experiment.yaml: is not UTF-8 text: .* at byte 6"):
        write_report(tmp_path)
