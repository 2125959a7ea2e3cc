"""The kinds of faults that an experiment can name, and ``inject``, which holds one of them.

A fault is one class in one file (:mod:`highwater_chaos.faults.base`). This module is below those files and must not
import them, so it finds them when an experiment is first read: the modules of ``highwater_chaos.faults``, and whatever
another distribution declares as an entry point of the group :data:`GROUP`::

    [project.entry-points."highwater.faults"]
    bitRot = "bit_rot:BitRot"
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from enum import Flag, auto
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, create_model
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from highwater_chaos.base.quantities import Duration, Nanoseconds
from highwater_chaos.experiment.base import LABEL, Model, OneOf

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

GROUP: Final = "highwater.faults"
"""The group of entry points that name faults of other distributions."""
_BUILT_IN: Final = "highwater_chaos.faults"


class FaultKindError(Exception):
    """An entry point does not name a fault, or two name the same kind. The message says which and what to do."""


class Effect(Flag):
    """What a fault does, as far as others need to know: they name no kind."""

    NONE = 0
    ENDS_PROCESSES = auto()
    """It has been injected once the processes are gone."""
    STOPS_IN_ORDER = auto()
    """Nodes are asked to stop."""
    ONE_AFTER_THE_OTHER = auto()
    """Its nodes are never down together."""
    HOLDS_PROCESSES = auto()
    """Processes stand still."""
    KEEPS_CONNECTIONS = auto()
    """The machine lives on: peers hear at once that a process has ended."""
    ENDS_SESSIONS = auto()
    """Sessions with ZooKeeper, or of brokers."""
    FAILS_LOGS = auto()
    """A log goes offline until its broker restarts."""
    ACTS_ON_MESSAGES = auto()
    """Messages of some RPC are held, lost, late or doubled."""
    LOSES_RESPONSES = auto()
    """A response may not come, or not for a while, though both nodes live on."""


class FaultModel(Model):
    """What a file says about one fault. :class:`highwater_chaos.faults.base.Fault` adds what the fault does."""

    KIND: ClassVar[str] = ""
    """The name under ``inject`` and ``random.faults``, in camelCase."""
    RANK: ClassVar[int] = 100
    """Its place where documents list kinds; those of the same rank go by name."""
    ALSO_CALLED: ClassVar[tuple[str, ...]] = ()
    """What else people call it; errors then name it."""
    EFFECT: ClassVar[Effect] = Effect.NONE
    DRAWN: ClassVar[bool] = True
    """Whether ``random`` can draw it."""

    def clock_error_ns(self, within_ns: int) -> int:  # noqa: ARG002 - most faults leave clocks alone
        """How far a clock may be off that this fault sets, for as long as ``within_ns``."""
        return 0

    @classmethod
    def drawn_clock_error_ns(cls, within_ns: int) -> int:  # noqa: ARG003
        """The same of any such fault that ``random`` draws."""
        return 0


@cache
def fault_kinds() -> Mapping[str, type[FaultModel]]:
    """Every known kind of fault by its name, in the order in which documents list them.

    Raises:
        FaultKindError: an entry point cannot be used.
    """
    found: dict[str, type[FaultModel]] = {}
    for source, kind in (*_built_in(), *_of_entry_points()):
        if kind.KIND in found:
            other = found[kind.KIND]
            raise FaultKindError(
                f"two faults are called {kind.KIND!r}: {other.__module__}.{other.__name__} and {source};"
                " rename or uninstall one"
            )
        found[kind.KIND] = kind
    ordered = sorted(found, key=lambda name: (found[name].RANK, name))
    return MappingProxyType({name: found[name] for name in ordered})


def drawn_kinds() -> list[str]:
    """Those that ``random`` can draw. Raises ``FaultKindError``."""
    return [name for name, kind in fault_kinds().items() if kind.DRAWN]


def effect_of(kind: str) -> Effect:
    """That of a kind of fault; none of one that is not installed here (a recording may name it)."""
    found = fault_kinds().get(kind)
    return Effect.NONE if found is None else found.EFFECT


def _built_in() -> Iterator[tuple[str, type[FaultModel]]]:
    package = importlib.import_module(_BUILT_IN)
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{_BUILT_IN}.{info.name}")
        for kind in _defined_in(module):
            yield module.__name__, kind


def _defined_in(module: ModuleType) -> list[type[FaultModel]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, FaultModel)
        and value.__module__ == module.__name__
        and value.KIND
    ]


def _of_entry_points() -> Iterator[tuple[str, type[FaultModel]]]:
    for point in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        source = f"entry point {point.name!r} = {point.value!r}"
        try:
            value = point.load()
        except (ImportError, AttributeError) as error:
            raise FaultKindError(f"{source} of group {GROUP} cannot be loaded: {error}") from error
        if not (isinstance(value, type) and issubclass(value, FaultModel)):
            raise FaultKindError(f"{source} of group {GROUP}: expected a class of highwater_chaos.faults.Fault")
        if point.name != value.KIND or to_camel(_field(value.KIND)) != value.KIND:
            raise FaultKindError(
                f"{source} of group {GROUP}: expected the entry point's name to be the fault's KIND, in camelCase;"
                f" found {value.KIND!r}"
            )
        yield source, value


class Inject(OneOf):
    """One fault. Without ``for`` it lasts until healed by ``name`` or by the schedule's end."""

    # What is validated is a subclass that has a field for each kind of fault (see :func:`_with_all_kinds`). It is made
    # when a file is first read, since faults are above this module.

    name: Annotated[
        str | None,
        Field(
            pattern=LABEL,
            max_length=63,
            description="By which heal and caught refer to it: lower-case letters, digits, dashes.",
        ),
    ] = None
    for_: Annotated[
        Duration | None,
        Field(
            alias="for",
            description="A duration such as 20s; absent: it lasts until healed by name, or until the schedule ends.",
        ),
    ] = None

    @classmethod
    def common(cls) -> frozenset[str]:
        """Name and length stand beside the fault."""
        return frozenset({"name", "for_"})

    @classmethod
    def of(cls, fault: FaultModel, *, for_: int | None = None, name: str | None = None) -> Inject:
        """One that injects ``fault`` for ``for_`` nanoseconds of run time (None: see the class)."""
        lasts = None if for_ is None else Nanoseconds(for_)
        return cls.model_validate({"name": name, "for_": lasts, _field(fault.KIND): fault})

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate by the model that has all kinds."""
        if OneOf not in cls.__bases__:
            return handler(source)
        # It is dumped as what it is, by its own model.
        return core_schema.no_info_plain_validator_function(
            lambda found: with_all_kinds().model_validate(found),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value, return_schema=core_schema.any_schema()
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The JSON schema of the model that has all kinds."""
        return handler(schema if OneOf not in cls.__bases__ else with_all_kinds().__pydantic_core_schema__)


@cache
def with_all_kinds() -> type[Inject]:
    """The model behind :class:`Inject`: a field for each kind of fault. Raises ``FaultKindError``."""
    fields: dict[str, Any] = {_field(name): (kind | None, None) for name, kind in fault_kinds().items()}
    return create_model("Inject", __base__=Inject, __doc__=Inject.__doc__, __module__=__name__, **fields)


def _field(kind: str) -> str:
    """The Python name of a kind: ``power_loss`` for ``powerLoss``."""
    return re.sub(r"([A-Z])", r"_\1", kind).lower()
