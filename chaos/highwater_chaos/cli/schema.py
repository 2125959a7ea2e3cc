"""``highwater schema``: the form of an experiment file, for editors."""

from __future__ import annotations

import json
import warnings

from pydantic.json_schema import PydanticJsonSchemaWarning

from highwater_chaos.experiment import ChaosExperiment


def schema() -> None:
    """Print the JSON Schema of an experiment file (draft 2020-12).

    Editors complete and check files by it: write it to a file, and name that file in the first line of an experiment,
    as 'highwater init' does. It says less than 'highwater validate', which knows how fields depend on each other.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)  # defaults with a unit are left out
        print(json.dumps(ChaosExperiment.model_json_schema(by_alias=True), indent=2))
