"""What callers may ask for, as data: strict about types and names, and bounded.

Durations are written as in experiment files (``5s``).
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any, Final, Literal, TypeVar, get_type_hints

from pydantic import Field, ValidationError, create_model

from highwater_chaos.base.strict_model import Model
from highwater_operator.agent.refusals import RefusalError

_MIB: Final = 1 << 20
LARGEST: Final = 1 << 44
"""Bytes of a crashable volume: 16 TiB, the most that ext4 and a sparse file can be."""
MOST_PEERS: Final = 200
_BOUNDS: Final = {
    "string": ("maxLength",),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "array": ("maxItems", "items"),
    "boolean": (),
    "null": (),
}
M = TypeVar("M", bound=Model)


ContainerName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class PodReference(Model):
    """Which pod. ``uid``: of the one that the caller saw; a pod that has been replaced since is another one.
    ``container``: name of the container that is the node; None: ``node``, as LogClusters have it, or the only one.
    ``volume``: which of the pod's volumes has the data; None: its only claim."""

    namespace: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$")]
    uid: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
    container: ContainerName | None = None
    volume: ContainerName | None = None


class VolumeRequest(Model):
    """A crashable volume. ``user`` and ``group``: whose its data directory is."""

    size_bytes: Annotated[int, Field(ge=32 * _MIB, le=LARGEST)] = 1024 * _MIB
    file_system: Literal["ext4", "xfs"] = "ext4"
    user: Annotated[int, Field(ge=0, lt=1 << 32)] = 10001
    group: Annotated[int, Field(ge=0, lt=1 << 32)] = 10001


def model_of(name: str, function: Callable[..., Any], base: type[M], **more: Any) -> type[M]:
    """A model of a function's parameters but the first, which is a node.

    Raises:
        TypeError: a parameter's type does not say how large a value may be.
    """
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is Parameter.empty else one.default)
        for one in list(signature(function).parameters.values())[1:]
    }
    made: type[M] = create_model(name, __base__=base, **more, **fields)
    for field in fields:
        if missing := _missing(made.model_json_schema(by_alias=False)["properties"][field]):
            raise TypeError(f"{name}: parameter {field} has no {' or '.join(missing)}: callers are not trusted")
    return made


def _missing(schema: dict[str, Any]) -> list[str]:
    """What a JSON schema does not say about how large a value may be."""
    if schema.keys() & {"enum", "const"}:
        return []
    parts = schema.get("anyOf", [schema["items"]] if "items" in schema else [])
    needed = () if "anyOf" in schema else _BOUNDS.get(schema.get("type", ""), ("type that has bounds",))
    return [*(bound for bound in needed if bound not in schema), *(bound for part in parts for bound in _missing(part))]


def read_volume(body: bytes) -> VolumeRequest:
    """Raises ``RefusalError`` (400) that says what is wrong where."""
    try:
        return VolumeRequest.model_validate_json(body or b"{}")
    except ValidationError as error:
        raise refusal_of(error) from error


def read_query(model: type[M], query: dict[str, str]) -> M:
    """Raises ``RefusalError`` (400) that says what is wrong where."""
    try:
        return model.model_validate_strings(query)
    except ValidationError as error:
        raise refusal_of(error) from error


def refusal_of(error: ValidationError) -> RefusalError:
    """The refusal (400) of what does not fit a model: the first thing that is wrong, and where."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the body"
    return RefusalError(400, f"{where}: {first['msg']}", expected=first["type"], found=repr(first["input"])[:200])
