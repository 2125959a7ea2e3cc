"""``external``: a fault that commands of the user's bring about: a tool of chaos engineering, a cloud's command line.

What they do is not known here. So the fault is what its probe says: it is gone before the inject command runs (a probe
that always says "there" proves nothing), there after it, and gone after the heal command. As long as it is in force any
node may be disturbed, and nothing is expected of any.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Self

from pydantic import AfterValidator, Field

from highwater_chaos.backends.primitives import Commands, Primitive, Probed, RunsCommands
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.base.process import Process, Until
from highwater_chaos.base.quantities import Duration
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults.base import Fault, FaultContext, FaultTarget, ProbeResult
from highwater_chaos.faults.targets import TargetError
from highwater_runtime.ports import SECOND

_LONGEST_NS: Final = 30 * SECOND
"""Of a command: what a guardian undoes must end in time, with two looks at it."""
_ENDS_WITHIN_NS: Final = 150 * SECOND
"""What was begun: a heal is tried again for a while, and each command and each look may take its time."""
_SHOWN: Final = 200


def _plain(argument: str) -> str:
    if any(ord(one) < 0x20 or ord(one) == 0x7F for one in argument):
        raise ValueError("expected an argument without control characters; what needs them goes into a script")
    return argument


def _in_time(timeout: int) -> int:
    if not 0 < timeout <= _LONGEST_NS:
        raise ValueError(
            "expected more than 0s and at most 30s; let the command return, and the probe say when it is so"
        )
    return timeout


Argument = Annotated[str, Field(min_length=1, max_length=2000), AfterValidator(_plain)]
Argv = Annotated[list[Argument], Field(min_length=1, max_length=64)]


class External(Fault):
    """Commands of the file. Only by highwater run, with --backend attach or local and --allow-external."""

    KIND: ClassVar[str] = "external"
    RANK: ClassVar[int] = 30
    EFFECT: ClassVar[Effect] = Effect.LOSES_RESPONSES
    DRAWN: ClassVar[bool] = False
    LOSES_CACHE: ClassVar[bool] = True
    SUFFERED: ClassVar[str] = "was hit by commands of the file (external)"
    inject_command: Annotated[
        Argv, Field(alias="inject", description="The command that brings it about: a list of arguments, no shell.")
    ]
    heal_command: Annotated[
        Argv,
        Field(
            alias="heal", description="The command that undoes it. It may be run again, and after half an injection."
        ),
    ]
    probe_command: Annotated[
        Argv, Field(alias="probe", description="Ends with status 0 if the fault is there, and with 1 if it is gone.")
    ]
    target: Annotated[
        Target | None, Field(description="The nodes that it is said to hit, for commands and reports; absent: any.")
    ] = None
    timeout: Annotated[
        Duration, AfterValidator(_in_time), Field(description="How long each command may take. A duration up to 30s.")
    ] = 30 * SECOND

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({RunsCommands})

    @property
    def healed_within_ns(self) -> int:
        """A probe may take its time too."""
        return super().healed_within_ns + self.timeout

    @property
    def in_words(self) -> str:
        """The commands, as a shell would take them, and cut short."""
        commands = {"": self.inject_command, "heal: ": self.heal_command, "probe: ": self.probe_command}
        return "; ".join(f"{what}{_shown(argv)}" for what, argv in commands.items())

    @classmethod
    def example(cls) -> Self:
        """Return a command that fails at once."""
        nothing = ["false"]
        return cls.model_validate({"inject": nothing, "heal": nothing, "probe": nothing})

    def inject(self, context: FaultContext) -> Process[None]:
        """Look that it is not there, run the inject command, and wait until the probe sees it."""
        runner, fault = context.using(RunsCommands), context.record.id
        nodes = context.resolve(self.target)
        runner.add_commands(fault, self._commands(context, nodes))
        yield Until(lambda: runner.probe_commands(fault) is not None, self.healed_within_ns, "the probe command ends")
        before = runner.probe_commands(fault)
        if _there(before) is not False:
            raise TargetError(f"{_in_words(before)}, before the inject command has run")
        touch = context.intend("commands", f"commands of {fault}", nodes or context.nodes)
        runner.begin_commands(fault, context.undone_by_ns)
        yield Until(lambda: runner.commands_outcome(fault) is not None, _ENDS_WITHIN_NS, "the inject command ends")
        if outcome := _outcome(runner, fault):
            raise BackendError(outcome)
        yield from context.confirm(
            lambda: _there(runner.probe_commands(fault)) is True, "the probe sees it", self.healed_within_ns
        )
        seen = runner.probe_commands(fault)
        context.record_evidence(touch, _in_words(seen), _there(seen) is True)

    def heal(self, context: FaultContext) -> Process[None]:
        runner, fault = context.using(RunsCommands), context.record.id
        runner.end_commands(fault)
        yield Until(lambda: runner.commands_outcome(fault) is not None, _ENDS_WITHIN_NS, "the heal command ends")

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """What the probe command has said since."""
        del touch
        runner, fault = context.using(RunsCommands), context.record.id
        seen = runner.probe_commands(fault)
        if _there(seen) is False:
            return ProbeResult(True, _in_words(seen))
        why = _outcome(runner, fault)
        return ProbeResult(False, f"{_in_words(seen)}{f'; {why}' if why else ''}")

    def _commands(self, context: FaultContext, nodes: Sequence[str]) -> Commands:
        record = context.record
        environment = {"HIGHWATER_FAULT": record.name or record.id, "HIGHWATER_NODES": ",".join(nodes)}
        return Commands(
            tuple(self.inject_command),
            tuple(self.heal_command),
            tuple(self.probe_command),
            self.timeout / SECOND,
            environment,
        )


def _there(seen: Probed | None) -> bool | None:
    return None if seen is None else seen.there


def _in_words(seen: Probed | None) -> str:
    match seen:
        case None:
            return "the probe command has not ended yet"
        case Probed(None, what):
            return f"it is not known whether it is there: {what}"
        case Probed(there, what):
            return f"the probe command says that it is {'there' if there else 'gone'}{f': {what}' if what else ''}"


def _outcome(runner: RunsCommands, fault: str) -> str:
    """Why the commands that were begun last failed; empty: they have not."""
    outcome = runner.commands_outcome(fault)
    return "the command has not ended in time" if outcome is None else outcome


def _shown(argv: Sequence[str]) -> str:
    text = "".join(one if one.isprintable() else "?" for one in shlex.join(argv))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
