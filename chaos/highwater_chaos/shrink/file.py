"""The file that shrinking leaves: short enough to read, and an experiment like any other."""

from __future__ import annotations

import yaml

from highwater_chaos.experiment import dump_experiment, parse_experiment
from highwater_chaos.shrink.search import Shrunk


def file_text(shrunk: Shrunk, origin: str) -> str:
    """The YAML text of the experiment, without fields at their defaults. ``origin``: what it was shrunk from."""
    name = f"{shrunk.experiment.metadata.name.removesuffix('-shrunk')[:240]}-shrunk"
    metadata = shrunk.experiment.metadata.model_copy(update={"name": name, "annotations": {}})
    experiment = shrunk.experiment.model_copy(update={"metadata": metadata})
    data = experiment.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)
    assert dump_experiment(parse_experiment(text, "shrunk")) == dump_experiment(experiment), "it says the same"
    return f"# Shows {shrunk.anomaly}. Shrunk from {origin}: {shrunk.before} -> {shrunk.after}.\n{text}"
