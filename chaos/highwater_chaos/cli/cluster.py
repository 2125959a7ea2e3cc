"""``highwater cluster up|status|down``: a local cluster that any Kafka client can use."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Table

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.output import print_table
from highwater_chaos.local_cluster.down import take_down as take_cluster_down
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, Mode, find
from highwater_chaos.local_cluster.record import names as cluster_names
from highwater_chaos.local_cluster.status import ClusterStatus, look

_QUORUMS: Final = (1, 3, 5)

cluster_app = typer.Typer(
    help="Run a cluster for any Kafka client. The nodes are plain processes on 127.0.0.1; no root is needed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_Name = Annotated[str, typer.Option(metavar="NAME", help="The name of the cluster.")]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@cluster_app.command()
def up(
    name: _Name = "default",
    brokers: Annotated[
        int | None, typer.Option(min=1, max=100, metavar="N", help="How many brokers.  [default: 3]")
    ] = None,
    controllers: Annotated[
        int | None, typer.Option(metavar="N", help="How many controllers: 1, 3 or 5.  [default: 1]")
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option(help="Keep the metadata in controllers, or in real ZooKeeper servers.  [default: kraft]"),
    ] = None,
    zookeepers: Annotated[
        int | None, typer.Option(metavar="N", help="How many ZooKeeper servers: 1, 3 or 5.  [default: 1]")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the data in this directory.")] = None,
    config: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Set a property of every node, by Kafka's name.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65435,
            metavar="N",
            help="The port of broker 0. The other brokers have the next ones.  [default: 9092]",
        ),
    ] = None,
    wipe: Annotated[bool, typer.Option("--wipe", help="Start with empty disks.")] = False,
    as_json: _Json = False,
) -> int:
    """Start a cluster, wait until it works, and print how to reach it. Data are kept from one time to the next."""
    if controllers is not None and controllers not in _QUORUMS:
        raise UsageError(
            f"--controllers {controllers}: expected 1, 3 or 5: an even number of controllers tolerates no more failures"
        )
    if zookeepers is not None and zookeepers not in _QUORUMS:
        raise UsageError(f"--zookeepers {zookeepers}: expected 1, 3 or 5: an even number tolerates no more failures")
    if zookeepers is not None and controllers is not None:
        raise UsageError("--zookeepers and --controllers: expected one of them, found both; --mode says which")
    if zookeepers is not None and mode == "kraft":
        raise UsageError("--zookeepers needs --mode zookeeper")
    if controllers is not None and mode == "zookeeper":
        raise UsageError(
            "--controllers: mode zookeeper has none, one of the brokers is the controller; see --zookeepers"
        )
    _check_name(name)
    from highwater_chaos.local_cluster.up import ClusterOptions, bring_up  # noqa: PLC0415 - the host of nodes, which only this needs

    chosen: Mode | None = "zookeeper" if zookeepers is not None else mode
    wish = ClusterOptions(name, data, brokers, controllers or zookeepers, port, _properties(config or []), wipe, chosen)
    try:
        cluster = bring_up(wish, lambda text: print(text, file=sys.stderr))
    except LocalClusterError as error:
        raise UsageError(str(error)) from error
    if as_json:
        print(json.dumps(look(cluster).to_json(), indent=2))
    else:
        _introduce(cluster)
    return Exit.OK


@cluster_app.command()
def status(name: _Name = "default", as_json: _Json = False) -> int:
    """Show a cluster's nodes and partitions. Exits 0 if all of them work, else 1."""
    found = look(_existing(name))
    if as_json:
        print(json.dumps(found.to_json(), indent=2))
    else:
        _print_status(found)
    return Exit.OK if found.state == "up" else Exit.FAIL


@cluster_app.command()
def down(
    name: _Name = "default",
    wipe: Annotated[bool, typer.Option("--wipe", help="Also delete the data of the cluster.")] = False,
) -> int:
    """Stop a cluster's nodes cleanly. Does nothing if none runs."""
    _existing(name)
    try:
        done = take_cluster_down(name, wipe=wipe, progress=lambda text: print(text, file=sys.stderr))
    except LocalClusterError as error:
        raise UsageError(str(error)) from error
    if done.killed:
        print(f"did not stop in time and were killed: {', '.join(done.killed)}")
    what = f"stopped {', '.join(done.stopped)}" if done.stopped else "did not run"
    kept = "its data are deleted" if done.wiped else f"its data are kept in {done.cluster.directory}"
    print(f"cluster {name}: {what}; {kept}")
    return Exit.OK


def _existing(name: str) -> ClusterRecord:
    _check_name(name)
    try:
        cluster = find(name)
        known = ", ".join(cluster_names())
    except LocalClusterError as error:
        raise UsageError(str(error)) from error
    if cluster is None:
        there = f"; there is {known}" if known else ""
        raise UsageError(f"there is no cluster {name!r}{there}; 'highwater cluster up --name {name}' makes one")
    return cluster


def _check_name(name: str) -> None:
    if not name or not all(character.isalnum() or character in "-_" for character in name):
        raise UsageError(f"--name {name!r}: expected letters, digits, - and _")


def _properties(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--config {text!r}: expected NAME=VALUE")
        if key in found:
            raise UsageError(f"--config {key!r} is given twice")
        found[key] = value
    return found


def _introduce(cluster: ClusterRecord) -> None:
    first = cluster.of_role("broker")[0].endpoint
    name = "" if cluster.name == "default" else f" --name {cluster.name}"
    print(f"cluster {cluster.name} is up: {len(cluster.of_role('broker'))} brokers, data in {cluster.directory}")
    print(f"bootstrap: {cluster.bootstrap()}")
    print()
    print(f"  echo hello | kcat -P -b {first} -t greetings")
    print(f"  kcat -C -b {first} -t greetings -o beginning -e")
    print(f"  highwater cluster status{name}")
    print(f"  highwater cluster down{name}")


def _print_status(found: ClusterStatus) -> None:
    print(f"cluster {found.name} is {found.state}; bootstrap {found.bootstrap}; data in {found.directory}")
    print(f"active controller: {found.leader or 'none, so the state of the partitions is not known'}")
    if found.view is not None:
        view = found.view
        fenced = ", ".join(map(str, view.fenced_brokers)) or "none"
        print(
            f"it sees: fenced brokers: {fenced}; partitions: {view.partitions}; without a leader: {view.leaderless};"
            f" under-replicated: {view.under_replicated}; under min ISR: {view.under_min_isr}"
        )
    table = Table("node", "role", "pid", "address", "state", "leads", "partitions", box=None, pad_edge=False)
    for node in found.nodes:
        state = node.state if node.why is None or node.state == "down" else f"{node.state}: {node.why}"
        role = "active controller" if node.is_leader else node.role
        counts = ("" if count is None else str(count) for count in (node.leads, node.partitions))
        table.add_row(node.name, role, str(node.pid or ""), node.address, state, *counts)
    print_table(table)
