"""What is wrong with an experiment file: where, what was found, what is allowed."""

from __future__ import annotations

from dataclasses import dataclass

from highwater_chaos.user_error import UserError
from highwater_runtime.portable import PortableError


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake. ``path`` is the field's (``spec.schedule[2].inject.kill``), ``line`` counts from 1 (0: unknown)."""

    path: str
    message: str
    line: int = 0


class ExperimentError(PortableError, UserError, ValueError):
    """A file that is refused before anything starts, with every problem found in it."""

    def __init__(self, source: str, problems: list[Problem]) -> None:
        self.source = source
        self.problems = problems
        super().__init__(
            "\n".join(
                f"{source}{f':{problem.line}' if problem.line else ''}: "
                f"{problem.path + ': ' if problem.path else ''}{problem.message}"
                for problem in problems
            )
        )
