"""``highwater init``: a first experiment file, with comments."""

from __future__ import annotations

import os
import re
import shlex
import sys
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
import yaml
from pydantic import ValidationError

from highwater_chaos.campaign.draw import RANDOM
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.output import check_output, writing
from highwater_chaos.experiment import ExperimentError, parse_experiment
from highwater_chaos.experiment.faults import Inject, fault_kinds

_LEADER: Final = {"leaderOf": "orders-0"}
_FIELDS: Final = ("target", "isolate")
"""Where a fault names its target."""

TEXT: Final = """\
# yaml-language-server: $schema=experiment.schema.json
# Editors complete this file by that schema: highwater schema > experiment.schema.json
#
# is it right?                     highwater validate {file}
{how}
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata:
  name: {name}
  annotations:
    highwater.dev/description: "What does {fault} of a leader do to acknowledged records?"
spec:
  seed: 1
  timeout: 5m # of the whole run; a simulated one takes seconds
  cluster:
{runtime}    mode: {mode} # where the metadata is: kraft, or zookeeper
    brokers: 3
    config: # of every node, by Kafka's names; all else is as in Kafka
      min.insync.replicas: 2
    topics:
      - {{name: orders, partitions: 2, replicationFactor: 3}}
  # What clients do, and what the log promises them for it: acks=all and idempotence promise that no acknowledged record
  # is lost, doubled, or out of order. With acks: 1 a record that the leader alone had may be lost.
  workload: {{producers: 2, rate: 50/s, acks: {acks}, idempotence: {idempotence}, consumers: 1}}
  schedule:
    - await: {{acked: {{atLeast: 100}}, within: 30s}} # first a while without any fault
    - inject: {{{fault}: {{{field}: {{leaderOf: orders-0}}}}, for: 10s}}
    - wait: 10s
  # When the schedule has ended, all faults are healed, and the cluster has to recover. Then all is read, and judged.
  expect:
    - {{verdict: pass}}
"""

_HOW: Final = {
    "highwater": """\
# in the simulator, in seconds     highwater run {file}
# on processes of this machine     highwater run {file} --backend local
# as many seeds as 5 minutes have  highwater campaign {file} --for 5m""",
    "apache-kafka": """\
# which releases and faults?       highwater doctor
# on processes of this machine     highwater run {file} --backend local
# on these releases                highwater run {file} --backend local --kafka 3.9.2,4.3.1""",
}
_RUNTIME: Final = {
    "highwater": "",
    "apache-kafka": "    runtime: apache-kafka # the newest release that was tested; version: 3.9.2 is another\n",
}


@cache
def _faults() -> dict[str, str]:
    """Kinds of faults that a partition's leader can have for a time, each with the field that names the leader."""
    found: dict[str, str] = {}
    for kind in fault_kinds():
        for field in _FIELDS:
            value: dict[str, Any] = {kind: {field: _LEADER}, "for": "10s"}
            try:
                Inject.model_validate(value)
            except ValidationError:
                continue
            found[kind] = field
            break
    return found


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("experiment.yaml"),
    mode: Annotated[
        Literal["kraft", "zookeeper"] | None,
        typer.Option(show_default=False, help="Where the cluster's metadata is. By default kraft."),
    ] = None,
    fault: Annotated[
        str | None,
        typer.Option(metavar="KIND", show_default=False, help="The fault that a leader gets. By default powerLoss."),
    ] = None,
    acks: Annotated[
        Literal["all", "1"] | None,
        typer.Option(show_default=False, help="What producers wait for. By default all."),
    ] = None,
    runtime: Annotated[
        Literal["highwater", "apache-kafka"], typer.Option(help="Whose brokers: our own, or Apache Kafka's.")
    ] = "highwater",
) -> None:
    """Write a first experiment, with comments.

    On a terminal it asks for what is not given.
    """
    if not str(file).isprintable():
        raise UsageError(f"{str(file)!r}: expected a name of printable characters")
    check_output(file.parent, "FILE")
    if os.path.lexists(file):
        raise UsageError(f"{file}: there is such a file already; give another name, or delete it")
    faults = _faults()
    mode = mode or _asked("Where is the cluster's metadata", "kraft", ("kraft", "zookeeper"))  # type: ignore[assignment]
    if fault is None:
        fault = _asked("Which fault does the leader get", "powerLoss", tuple(faults))
    acks = acks or _asked("Which acknowledgements do producers wait for", "all", ("all", "1"))  # type: ignore[assignment]
    if fault not in faults:
        raise UsageError(f"--fault {fault}: expected one of {', '.join(faults)}")
    shown = shlex.quote(f"./{file}" if str(file).startswith("-") else str(file))
    text = TEXT.format(
        file=shown,
        how=_HOW[runtime].format(file=shown),
        runtime=_RUNTIME[runtime],
        name=_name(file.stem),
        mode=mode,
        fault=fault,
        field=faults[fault],
        acks=acks,
        idempotence="true" if acks == "all" else "false",
    )
    try:
        parse_experiment(text, str(file))
    except ExperimentError as error:
        raise UsageError(f"{error}\nnothing was written; choose another file or another fault") from error
    with writing(file, "FILE"):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
    where = " --backend local" if runtime == "apache-kafka" else ""
    print(f"{file}: written; now: highwater run {shown}{where}")


def _name(stem: str) -> str:
    """A name of an experiment, as YAML; no campaign knows another one as :data:`RANDOM`."""
    name = re.sub("[^a-z0-9.]+", "-", stem.lower()).strip("-.") or "experiment"
    name = f"my-{name}" if name == RANDOM else name
    return name if isinstance(yaml.safe_load(name), str) else f'"{name}"'


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _asked(question: str, default: str, choices: tuple[str, ...]) -> str:
    """The user's answer where there is a terminal, else the default."""
    if not _is_terminal():
        return default
    while True:
        print(f"{question}? {', '.join(choices)} [{default}]: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise KeyboardInterrupt
        if (chosen := answer.strip() or default) in choices:
            return chosen
