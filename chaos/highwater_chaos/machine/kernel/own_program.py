"""The command line of a program of ours that is written in Python. Imports nothing else of ours."""

from __future__ import annotations

import sys


def own_program(module: str, *arguments: str) -> tuple[str, ...]:
    """``python -P -m MODULE ARGUMENTS``, by this interpreter.

    Without ``-P`` Python would look for every module in the working directory first: who runs ``highwater`` as root in
    a directory that others may write to would run their code as root.
    """
    return (sys.executable, "-P", "-m", module, *arguments)
