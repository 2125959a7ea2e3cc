"""Tiny histories, each with the anomalies that it must show and one sentence why (the docstring).

One file for each check of ``highwater_pipeline.checks``, or for a few that belong together; a new file is found by
itself. ``history`` has what they are written with, and ``CASES``, to which the decorator ``case`` adds them.
"""

from __future__ import annotations

import importlib
import pkgutil

from pipeline_stories.history import CASES, Case, Story

__all__ = ["CASES", "Case", "Story"]

for _name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_name}")
