"""``highwater heal``: undo every fault on this machine and give everything back, without harness or guardian; or every
fault of experiments in a namespace of a Kubernetes cluster, without operator."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from highwater_chaos.cli.exits import Exit, UsageError
from highwater_chaos.cli.on_kubernetes import cluster_commands
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.runs.directory import state_root
from highwater_chaos.machine.runs.heal import Healed
from highwater_chaos.machine.runs.heal import heal as heal_machine


def heal(
    run: Annotated[str | None, typer.Option(metavar="ID", help="Heal only what this run left.")] = None,
    living: Annotated[
        bool, typer.Option("--all", help="Also end runs that are in progress. Their harness cannot continue then.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what there is to undo.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    namespace: Annotated[
        str | None, typer.Option(metavar="NS", help="Heal this namespace of a Kubernetes cluster, not this machine.")
    ] = None,
    context: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --namespace: use this context of the kubeconfig.")
    ] = None,
    system_namespace: Annotated[
        str | None,
        typer.Option(metavar="NS", help="With --namespace: the namespace of the agents.  [default: highwater-system]"),
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="SECONDS", help="With --namespace: retry failing steps for this long.  [default: 60]"
        ),
    ] = None,
) -> int:
    """Undo what runs left behind.

    Undoes every fault of every run that is not in progress, and removes what the run created. Heals this machine. With
    --namespace, heals the experiments of a namespace of Kubernetes and ends them. Needs neither the harness nor the
    operator. Exits 1 if something is left.
    """
    if namespace is not None:
        if run is not None or living:
            raise UsageError("highwater heal: --run and --all are for this machine, not for --namespace")
        return _in_cluster(namespace, context, system_namespace, timeout or 60, dry_run=dry_run, as_json=as_json)
    if context is not None or system_namespace is not None or timeout is not None:
        raise UsageError("highwater heal: --context, --system-namespace and --timeout need --namespace")
    try:
        root = state_root()
        results = heal_machine(root, only=run, living=living, dry_run=dry_run)
    except MachineError as error:
        raise UsageError(f"highwater heal: {error}") from error
    if as_json:
        print(json.dumps({"stateDirectory": str(root), "runs": [asdict(result) for result in results]}, indent=2))
    else:
        _print(results, dry_run)
        if all(result.skipped for result in results):
            print(f"nothing to heal in {root}")
    refused = run is not None and any(result.skipped for result in results)
    return Exit.FAIL if refused or any(result.left for result in results) else Exit.OK


def _in_cluster(
    namespace: str, context: str | None, system: str | None, timeout: int, *, dry_run: bool, as_json: bool
) -> int:
    healed = cluster_commands("heal --namespace").heal_namespace(
        namespace,
        context,
        system=system,
        timeout=timeout,
        dry_run=dry_run,
        say=lambda text: print(text, file=sys.stderr),
    )
    if as_json:
        print(json.dumps(asdict(healed), indent=2))
    else:
        for what in healed.undone:
            print(f"{'would undo' if dry_run else 'undone'}: {what}")
        for name in healed.ended:
            print(f"{'would end' if dry_run else 'ended'}: chaosexperiment/{name}")
        for what in healed.left:
            print(f"LEFT: {what}")
        if not (healed.undone or healed.ended or healed.left):
            print(f"nothing to heal in {namespace}")
    return Exit.FAIL if healed.left else Exit.OK


def _print(results: list[Healed], dry_run: bool) -> None:
    for result in results:
        title = "without a run" if result.run == "orphans" else f"run {result.run}"
        title += f" ({result.label})" if result.label else ""
        if result.skipped:
            print(f"{title}: in progress (pid {result.owner}), not touched; --all ends it")
            continue
        print(f"{title}: {'owner lives (pid ' + str(result.owner) + ')' if result.owner else 'its owner is gone'}")
        for what in result.undone:
            print(f"  {'would undo' if dry_run else 'undone'}: {what}")
        for what in result.left:
            print(f"  LEFT: {what}")
