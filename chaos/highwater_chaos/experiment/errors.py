"""What is wrong with an experiment file: where, what was found, what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from highwater_chaos.base.user_error import UserError
from highwater_runtime.portable import PortableError


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. ``path`` is the field's (``spec.schedule[2].inject.kill``), ``line`` counts from 1 (0: unknown)."""

    path: str
    message: str
    line: int = 0


_MOST_SHOWN: Final = 50
"""Problems of one file; who has more has another file in mind."""


class ExperimentError(PortableError, UserError, ValueError):
    """A file that is refused before anything starts, with every problem found in it; the first of them are printed,
    each in one line, whatever the file has in its names."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = problems
        lines = [
            f"{source}{f':{problem.line}' if problem.line else ''}: "
            f"{problem.path + ': ' if problem.path else ''}{problem.message}"
            for problem in problems[:_MOST_SHOWN]
        ]
        if len(problems) > _MOST_SHOWN:
            lines.append(f"{source}: and {len(problems) - _MOST_SHOWN:,} more problems")
        super().__init__("\n".join(map(_printable, lines)))


def _printable(line: str) -> str:
    return line if line.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in line)
