"""Models of what others wrote, files and requests: strict about types and names, immutable."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Base of every part: camelCase in files, unknown fields refused, immutable, strict about types."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        strict=True,
        use_enum_values=True,
        defer_build=True,  # most processes use few models, and those of parts are built with the whole once more
    )
