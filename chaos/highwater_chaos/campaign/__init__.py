"""Campaigns: many seeds of one experiment, or of experiments that seeds draw.

1. :mod:`draw` makes the experiment of a seed; :mod:`plan` decides which seeds run, and in which order.
2. :mod:`seed` runs and judges one; :mod:`processes` and :mod:`on_spark` run many, also if some hang or crash.
3. :mod:`store` keeps the outcomes, so that a campaign whose driver was killed can be resumed.
4. :mod:`rows` counts, :mod:`page` shows, :mod:`examples` writes failing seeds as run directories and shrinks them.
5. :mod:`definition` says what of all this a campaign may do in another way.

The modules that keep a campaign are imported on first use, so a process that only runs seeds does not import PyArrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from highwater_chaos.campaign.definition import Campaign
from highwater_chaos.campaign.draw import RANDOM, draw_experiment
from highwater_chaos.campaign.plan import Plan, Progress, Series, series_of_file, series_of_random
from highwater_chaos.campaign.processes import on_processes
from highwater_chaos.campaign.rows import Row
from highwater_chaos.campaign.seed import Outcome, SeedJob, experiment_of, run_seed_job

if TYPE_CHECKING:
    from highwater_chaos.campaign.store import BadCampaignError, CampaignDirectory

__all__ = [
    "RANDOM",
    "BadCampaignError",
    "Campaign",
    "CampaignDirectory",
    "Outcome",
    "Plan",
    "Progress",
    "Row",
    "SeedJob",
    "Series",
    "draw_experiment",
    "experiment_of",
    "on_processes",
    "run_seed_job",
    "series_of_file",
    "series_of_random",
]

_HOME = {"BadCampaignError": "store", "CampaignDirectory": "store"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
