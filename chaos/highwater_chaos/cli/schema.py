"""``highwater schema``: the form of an experiment file, for editors."""

from __future__ import annotations

import json
import warnings

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, PydanticJsonSchemaWarning
from pydantic_core.core_schema import NullableSchema, WithDefaultSchema

from highwater_chaos.experiment import ChaosExperiment


class _Concise(GenerateJsonSchema):
    """Without what an editor need not show: titles made of names, and that an absent field is null."""

    def field_title_should_be_set(self, schema: object) -> bool:
        del schema
        return False

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        return {key: value for key, value in made.items() if (key, value) != ("default", None)}

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        made = super().nullable_schema(schema)
        match made.get("anyOf"):
            case [{"type": str(kind)}, {"type": "null"}] if not made["anyOf"][0].keys() & {"enum", "const"}:
                return {**made["anyOf"][0], "type": [kind, "null"]}
        return made


def schema() -> None:
    """Print the JSON Schema of an experiment file (draft 2020-12).

    Editors complete and check files by it: write it to a file, and name that file in the first line of an experiment,
    as 'highwater init' does. It says less than 'highwater validate', which knows how fields depend on each other.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)  # defaults with a unit are left out
        made = ChaosExperiment.model_json_schema(by_alias=True, schema_generator=_Concise)
    print(json.dumps(made, indent=2))
