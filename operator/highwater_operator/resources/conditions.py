"""``metav1.Condition`` as a model, for the CRDs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from highwater_chaos.experiment.base import Model


class Condition(Model):
    """One aspect of an object's state, as every Kubernetes tool reads it."""

    type: Annotated[str, Field(max_length=316, description="The aspect: CamelCase.")]
    status: Annotated[Literal["True", "False", "Unknown"], Field(description="Whether it is so.")]
    observed_generation: Annotated[
        int, Field(ge=0, description="The metadata.generation that this was computed from.")
    ] = 0
    last_transition_time: Annotated[
        str, Field(json_schema_extra={"format": "date-time"}, description="When the status changed last.")
    ]
    reason: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1024,
            pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            description="Why, in one CamelCase word for programs.",
        ),
    ]
    message: Annotated[str, Field(max_length=32768, description="Why, in words for people.")]
