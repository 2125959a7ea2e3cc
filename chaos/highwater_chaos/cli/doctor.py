"""``highwater doctor``: what this machine can do, and why not."""

from __future__ import annotations

import importlib.util
import json
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer
from rich.markup import escape
from rich.table import Table

from highwater_chaos.apache_kafka.versions import TESTED, newest
from highwater_chaos.backends import BACKENDS, make_backend
from highwater_chaos.backends.ensemble import servers
from highwater_chaos.backends.local import apache_kafka
from highwater_chaos.backends.local.capability import why_not
from highwater_chaos.backends.local.highwater_program import kazoo_missing
from highwater_chaos.backends.primitives import PRIMITIVES, implemented_by
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.base.distribution import installing
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.on_kubernetes import cluster_commands
from highwater_chaos.cli.output import print_table
from highwater_chaos.experiment.faults import fault_kinds
from highwater_chaos.faults import kind_named
from highwater_chaos.machine.capabilities import available
from highwater_chaos.schedule.capability import available_faults
from highwater_pipeline.java import JavaNotFoundError, find_java

_IN_SIMULATOR: Final = "not in the simulator"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: whether it works here, and what was seen or what to do."""

    what: str
    works: bool
    detail: str


def doctor(
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Look at pods of a Kubernetes cluster, not at this machine.")
    ] = False,
    namespace: Annotated[
        str | None, typer.Option(metavar="NS", show_default=False, help="With --kubernetes: the pods' namespace.")
    ] = None,
    selector: Annotated[
        str | None,
        typer.Option(
            metavar="LABELS",
            show_default=False,
            help="With --kubernetes: which pods, such as strimzi.io/cluster=NAME; without: all with the container.",
        ),
    ] = None,
    container: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="With --kubernetes: the pods' node.  [default: kafka]"),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="With --kubernetes: this context of the kubeconfig."),
    ] = None,
    system_namespace: Annotated[
        str | None,
        typer.Option(metavar="NS", help="With --kubernetes: the agents' namespace.  [default: highwater-system]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show which faults this machine can inject.

    Looks at Python and Java, tries every capability of the machine, and says which fault works on which backend. With
    --kubernetes, shows what can be injected on pods of a namespace, and why not the rest.
    """
    if kubernetes:
        found = cluster_commands("doctor --kubernetes").examine_namespace(
            namespace, context, system=system_namespace, selector=selector or "", container=container or "kafka"
        )
        _print([Finding(*one) for one in found], as_json=as_json)
        return
    if any(one is not None for one in (namespace, selector, container, context, system_namespace)):
        raise UsageError(
            "highwater doctor: --namespace, --selector, --container, --context and --system-namespace need --kubernetes"
        )
    general = [_python(), _spark(), *_backends(), _zookeeper(), _apache_kafka(), _messages(), *_releases()]
    machine = [
        Finding(f"machine: {capability}", reason is None, reason or "tried, works")
        for capability, reason in available().items()
    ]
    faults = {kind: _fault(kind) for kind in fault_kinds()}
    if as_json:
        rows = [*general, *machine]
        rows += [
            Finding(f"{kind} on {backend}", reason is None, reason or "works")
            for kind, backends in faults.items()
            for backend, reason in backends.items()
        ]
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    print_table(_findings([*general, *machine]))
    print()
    print_table(_faults(faults))


def _print(findings: list[Finding], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(row) for row in findings], indent=2))
    else:
        print_table(_findings(findings))


def _findings(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in findings:
        table.add_row(_word(finding.works), finding.what, escape(finding.detail))
    return table


def _faults(faults: dict[str, dict[str, str | None]]) -> Table:
    table = Table("fault", "sim", "local", "", box=None, pad_edge=False)
    for kind, backends in faults.items():
        reasons = [f"{backend}: {reason}" for backend, reason in backends.items() if reason is not None]
        table.add_row(kind, *(_word(reason is None) for reason in backends.values()), escape("; ".join(reasons)))
    return table


def _word(works: bool) -> str:
    return "yes" if works else "no"


def _fault(kind: str) -> dict[str, str | None]:
    needs = kind_named(kind).example().needs
    reasons = why_not()
    local = [f"{name}: {reasons[need]}" for need, name in PRIMITIVES.items() if need in needs and reasons[need]]
    return {
        "sim": None if needs <= implemented_by(SimBackend) else _IN_SIMULATOR,
        "local": "; ".join(local) or None,
    }


def _python() -> Finding:
    return Finding("python", sys.version_info >= (3, 11), f"{platform.python_version()} at {sys.executable}")


def _spark() -> Finding:
    what = "highwater check (Spark)"
    if importlib.util.find_spec("pyspark") is None:
        return Finding(what, False, f"needs PySpark: {installing('pipeline')}")
    try:
        java = find_java()
    except JavaNotFoundError as error:
        return Finding(what, False, str(error))
    return Finding(what, True, f"Java {java.version} at {java.home}")


def _apache_kafka() -> Finding:
    why = apache_kafka.available()
    works = f"Apache Kafka {newest('kraft')}, whose jars are fetched on first use"
    return Finding("cluster.runtime: apache-kafka", why is None, why or works)


def _messages() -> Finding:
    why = apache_kafka.why_no_proxy({})
    works = "hold, drop, delay, duplicate, by a proxy"
    return Finding("messages of Apache Kafka", why is None, why or works)


def _releases() -> list[Finding]:
    """Every release that was tested."""
    zookeeper = [why for why in (servers.available(), kazoo_missing()) if why is not None]
    found = []
    for release, tested in TESTED.items():
        why = apache_kafka.available(release)
        modes = [mode for mode in tested.modes if mode == "kraft" or not zookeeper]
        if why is None and not modes:
            why = "; ".join(zookeeper)
        where = "in the cache" if apache_kafka.is_fetched(release) else "fetched on first use"
        detail = f"mode {' and '.join(modes)}; {where}"
        if len(modes) < len(tested.modes):
            detail = f"{detail}; mode zookeeper: {'; '.join(zookeeper)}"
        found.append(Finding(f"cluster.version: {release}", why is None, why or detail))
    return found


def _zookeeper() -> Finding:
    problems = [why for why in (servers.available(), kazoo_missing()) if why is not None]
    return Finding("cluster.mode: zookeeper", not problems, "; ".join(problems) or "ZooKeeper's servers and kazoo")


def _backends() -> list[Finding]:
    built = [
        Finding(f"--backend {name}", True, "faults: " + ", ".join(available_faults(make_backend(name).primitives)))
        for name in BACKENDS
    ]
    client = importlib.util.find_spec("kubernetes") is not None
    how = "in a cluster that has highwater-operator" if client else f"needs {installing('operator')}"
    anywhere = "any cluster whose brokers can be reached from here; faults: external, by commands of yours"
    attach = Finding("--backend attach", True, anywhere)
    return [*built, attach, Finding("--backend kubernetes", client, how)]
