"""What an agent takes and shows because it is in the list of primitives of machines."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
import pytest
from annotated_types import Ge, Le, MaxLen

from highwater_chaos.backends.kubernetes.crashable import CrashableBackend
from highwater_chaos.backends.local.isolated import IsolatedBackend
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.base.strict_model import Model
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.faults import node_fault
from highwater_chaos.machine.faults.disk_full import DiskFull
from highwater_chaos.machine.faults.node_fault import MachineNode
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.primitives import MACHINE_PRIMITIVES, Begins, Ends, Probes
from highwater_chaos.machine.runs.kinds import KINDS as JOURNALLED
from highwater_operator.agent.faults.base import HealContext
from highwater_operator.agent.faults.derived import MachineFault
from highwater_operator.agent.faults.kinds import KINDS, read_fault
from highwater_operator.agent.http_api import PROBES
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import model_of, read_query

POD = {"namespace": "default", "name": "demo-broker-0", "uid": "00000000-0000-4000-8000-000000000000"}


@pytest.mark.parametrize("primitive", MACHINE_PRIMITIVES, ids=lambda one: one.__name__)
def test_a_line_of_the_list_is_all_that_backends_and_agents_need(primitive: type[Any]) -> None:
    one = MACHINE_PRIMITIVES[primitive]
    assert issubclass(SimBackend, primitive)
    assert issubclass(IsolatedBackend, primitive)
    assert issubclass(CrashableBackend, primitive)
    assert JOURNALLED[one.fault.KIND] is one.fault
    for name, role in one.methods.items():
        # A backend hands the method's parameters on by their names.
        own = [
            part for part in signature(getattr(primitive, name)).parameters if part not in ("self", "node", "until_ns")
        ]
        match role:
            case Begins() if "node" not in signature(getattr(primitive, name)).parameters:
                assert role.kind in KINDS  # backends have such methods of their own
            case Begins():
                parameters = list(signature(role.fault.on).parameters.values())[1:]
                assert own == [part.name for part in parameters]
                assert all(part.default is not part.empty for part in parameters)  # with these a machine tries it
                assert role.kind in KINDS
            case Probes():
                assert own == list(signature(role.look).parameters)[1:]
                assert name in PROBES
            case Ends():
                assert own == []


@dataclass(frozen=True, slots=True)
class Slow(Pause):
    KIND: ClassVar[str] = "slow"

    @classmethod
    def on(  # type: ignore[override]
        cls,
        node: MachineNode,
        /,
        share: Annotated[int, Ge(1), Le(100)],
        names: Annotated[list[Annotated[str, MaxLen(10)]], MaxLen(2)] = [],  # noqa: B006
        how: Literal["all", "some"] = "all",
    ) -> Self:
        raise NotImplementedError


def read(model: type[Any], **fields: Any) -> Any:
    body = {"kind": "slow", "pod": POD, "deadline": "2030-01-01T00:00:00Z", **fields}
    return model.model_validate_json(msgspec.json.encode(body))


def test_parameters_of_a_primitive_are_fields_of_the_request_and_bounded() -> None:
    kind = MachineFault.of(Begins("slow", Slow))
    made = read(kind, share=7, names=["a"])
    assert (made.share, made.names, made.how, made.pod.name) == (7, ["a"], "all", "demo-broker-0")
    for wrong in (
        {},
        {"share": 0},
        {"share": 101},
        {"share": "7"},
        {"share": 7.5},
        {"share": 7, "names": ["a", "b", "c"]},
        {"share": 7, "names": ["a" * 11]},
        {"share": 7, "how": "none"},
        {"share": 7, "further": 1},
        {"share": 7, "kind": "pause"},
    ):
        with pytest.raises(ValueError, match="validation error"):
            read(kind, **wrong)


@pytest.mark.parametrize(
    "hint",
    [
        *(str, int, float, bytes, Any, dict[str, bool], list[bool], str | None),
        Annotated[int, Ge(0)],
        Annotated[list[str], MaxLen(2)],
        Annotated[str, MaxLen(5)] | int,
    ],
    ids=str,
)
def test_a_parameter_without_bounds_is_found_before_any_caller_finds_it(hint: Any) -> None:
    def look(node: MachineNode, word: Any) -> None: ...

    look.__annotations__["word"] = hint
    with pytest.raises(TypeError, match=r"parameter word has no .*: callers are not trusted"):
        model_of("look", look, Model)


def test_what_is_asked_of_a_probe_is_read_as_strictly() -> None:
    def look(node: MachineNode, share: Annotated[int, Ge(1), Le(100)], on: bool = False) -> None: ...

    model = model_of("look", look, Model)
    assert dict(read_query(model, {"share": "7", "on": "true"})) == {"share": 7, "on": True}
    for wrong in ({}, {"share": "x"}, {"share": "0"}, {"share": "7", "on": "perhaps"}, {"share": "7", "more": "1"}):
        with pytest.raises(RefusalError) as refused:
            read_query(model, wrong)
        assert refused.value.status == 400


@pytest.mark.parametrize("kind", ["pause", "diskFull", "diskError"])
def test_fields_that_a_kind_does_not_have_are_refused(kind: str) -> None:
    body = {"kind": kind, "pod": POD, "deadline": "2030-01-01T00:00:00Z"}
    assert read_fault(msgspec.json.encode(body)).plain() == body
    with pytest.raises(RefusalError, match="lasts: Extra inputs"):
        read_fault(msgspec.json.encode({**body, "lasts": 1}))


@pytest.mark.parametrize(
    ("met", "in_force", "gone"), [("ENOSPC", True, False), (None, False, True), ("EIO", False, False)]
)
def test_a_fault_that_is_not_there_is_not_gone_for_that(
    met: str | None, in_force: bool, gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that was full and now fails in another way is not healed."""
    monkeypatch.setattr(node_fault, "met_by_write", lambda _: met)
    one = DiskFull(Volume("default_demo", "", "/no/image", "/no/point", "ext4", 1))
    context: Any = HealContext(None, None, [one])  # type: ignore[arg-type]
    asked = read_fault(msgspec.json.encode({"kind": "diskFull", "pod": POD, "deadline": "2030-01-01T00:00:00Z"}))
    assert [look.confirmed for look in asked.observe(context)] == [in_force]
    assert [(look.phase, look.confirmed) for look in asked.healed(context)] == [("heal", gone)]
