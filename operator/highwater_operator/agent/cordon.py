"""``python -m highwater_operator.agent.cordon cordon|uncordon|look NODE FAULT``: whether pods are put on a node.

A program of its own, so that the guardian of the agent's run can undo it at the deadline. An annotation says which
fault has cordoned the node: what somebody else has cordoned stays so.
"""

from __future__ import annotations

import sys
from typing import Final

from highwater_chaos.kube.client import Kube, KubeError, local_configuration
from highwater_chaos.kube.kinds import NODE, Json
from highwater_chaos.machine.process.commands import GONE, THERE

BY: Final = "highwater.dev/cordoned-by"
_UNKNOWN: Final = 2


def main() -> int:
    """Return 0 and 1 as a probe does, and 2 if it is not known or not done."""
    what, name, fault = sys.argv[1:]
    api = Kube(local_configuration(), manager="highwater-agent", patience=5.0)
    try:
        found = api.get(NODE, None, name)
        if found is None:
            sys.stdout.write(f"there is no node {name}\n")
            return GONE if what != "cordon" else _UNKNOWN
        by = (found["metadata"].get("annotations") or {}).get(BY)
        match what:
            case "look":
                return THERE if by == fault else GONE
            case "cordon":
                if by is None and (found.get("spec") or {}).get("unschedulable"):
                    sys.stdout.write(f"node {name} is cordoned already, by somebody else\n")
                    return _UNKNOWN
                if by not in (None, fault):
                    sys.stdout.write(f"node {name} is cordoned already, by fault {by}\n")
                    return _UNKNOWN
                _patch(api, found, fault)
            case _ if by == fault:
                _patch(api, found, None)
    except KubeError as error:
        sys.stdout.write(f"{error}\n")
        return _UNKNOWN
    return 0


def _patch(api: Kube, found: Json, fault: str | None) -> None:
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    spec = {"unschedulable": None if fault is None else True}
    change = {"metadata": {"annotations": {BY: fault}, **version}, "spec": spec}
    api.patch(NODE, None, found["metadata"]["name"], change)


if __name__ == "__main__":
    sys.exit(main())
