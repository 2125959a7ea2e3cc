"""``highwater heal --namespace``: everything that experiments broke in a namespace is undone, with no operator needed.

With the caller's rights: experiments are read from the API server, agents are asked through it
(:mod:`~.tunnels`). Each experiment under way is first marked ``Aborting``. From then on its runner may begin nothing
more (its journal refuses), and an operator that is there does the very same things; every write is checked against the
object's version and every fault's end may be asked for any number of times, so that neither disturbs the other.

Agents keep a journal of their own, and each is asked what it has in force on pods of the namespace, whatever became of
the experiment and of the pods: a pod of others has no label of ours, and a machine may be cordoned that has none left.

A fault counts as undone if an agent reports that it saw it gone. If an agent cannot be reached or cannot undo a fault,
the experiment stays ``Aborting``, its journal stays as it is, and the result names the fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from highwater_chaos.backends.kubernetes.agents import OVER, AgentClient, AgentError, AgentSettings
from highwater_chaos.backends.kubernetes.cluster import Place, take_down
from highwater_chaos.backends.kubernetes.conclusion import aborted
from highwater_chaos.backends.kubernetes.healing import (
    NOT_SEEN,
    end_of,
    heal,
    homes_of,
    judge_job_name,
    open_faults,
    run_job_name,
    unseen_faults,
)
from highwater_chaos.backends.kubernetes.journal import FINAL_PHASES
from highwater_chaos.backends.kubernetes.reference import reference_of
from highwater_chaos.backends.kubernetes.tunnels import TokenError, secret_of, trust_of, tunnelled
from highwater_chaos.kube.client import ConflictError, Kube, KubeError, NotFoundError
from highwater_chaos.kube.conditions import condition_of
from highwater_chaos.kube.kinds import (
    CHAOS_EXPERIMENT,
    CLUSTER_LABEL,
    EXPERIMENT_UID_LABEL,
    FINALIZER,
    GROUP,
    JOB,
    NAMESPACE,
    POD,
    Json,
)

SYSTEM: Final = "highwater-system"
_OPERATOR: Final = "app.kubernetes.io/name=highwater,app.kubernetes.io/component=operator"
_REASON: Final = "ended by `highwater heal` before it was over"
_POLL: Final = 0.5
_RUNNER_STOPS_WITHIN: Final = 40.0
_OPERATOR_LETS_GO_WITHIN: Final = 20.0


class HealRefusedError(Exception):
    """Nothing was done; the message says what is missing: the namespace, a right, an installation."""


@dataclass(slots=True)
class NamespaceHealed:
    """What came of it. ``left``: what could not be undone or seen to be, and where."""

    namespace: str
    undone: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


class Right(NamedTuple):
    """Something that healing asks the API server for."""

    verb: str
    resource: str
    namespace: str
    group: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return " ".join([self.verb, resource, *([self.name] if self.name else []), f"in namespace {self.namespace}"])


def needed_rights(namespace: str, system: str, secret: str, trust: str) -> list[Right]:
    """Return all rights that a heal needs."""
    return [
        Right("list", "chaosexperiments", namespace, GROUP),
        Right("get", "chaosexperiments", namespace, GROUP),
        Right("patch", "chaosexperiments", namespace, GROUP),
        Right("patch", "chaosexperiments/status", namespace, GROUP),
        Right("get", "logclusters", namespace, GROUP),
        Right("delete", "logclusters", namespace, GROUP),
        Right("list", "pods", namespace),
        Right("list", "pods", system),
        Right("get", "pods/portforward", system),
        Right("get", "secrets", system, name=secret),
        Right("get", "configmaps", system, name=trust),
        Right("delete", "jobs", system, "batch"),
    ]


def heal_namespace(
    api: Kube,
    namespace: str,
    *,
    system: str = SYSTEM,
    timeout: float = 60.0,
    dry_run: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> NamespaceHealed:
    """Undo everything in ``namespace``.

    Args:
        api: the API server, by the rights of the caller.
        system: where operator, agents and runners are.
        timeout: seconds for which what cannot be healed is tried again.
        dry_run: only find out what there is to undo.
        say: hears what is waited for.

    Raises:
        HealRefusedError: before anything was done.
        KubeError: the API server does not answer.
    """
    return _Heal(api, namespace, system, timeout, say).run(dry_run)


class _Heal:
    def __init__(self, api: Kube, namespace: str, system: str, timeout: float, say: Callable[[str], None]) -> None:
        self._api = api
        self._namespace = namespace
        self._agents_at = AgentSettings(system)
        self._system = system
        self._timeout = timeout
        self._say = say
        self._clients: dict[str, AgentClient] = {}
        self._machines: set[str] = set()
        """Nodes that have an agent, whether it can be asked or not, or pods of a cluster."""
        self._homes: dict[str, set[str]] = {}
        """Nodes with pods of a cluster, by its name."""
        self._seen_open: set[str] = set()
        self._unseen: dict[str, str] = {}
        """Faults of which nobody saw that they are gone, in words."""
        self._reported: set[str] = set()
        self._healed = NamespaceHealed(namespace)

    def run(self, dry_run: bool) -> NamespaceHealed:
        experiments = self._look()
        if dry_run:
            self._plan(experiments)
            return self._healed
        for experiment in experiments:
            self._take(experiment)
        for experiment in experiments:
            self._end_runner(experiment)
        deadline = time.monotonic() + self._timeout
        while left := self._round(experiments):
            if time.monotonic() > deadline:
                break
            self._tell(f"not healed yet: {'; '.join(left)}")
            time.sleep(_POLL)
        self._healed.left += [*left, *self._unseen.values()]
        for experiment in experiments:
            self._end(experiment)
        return self._healed

    # --- before anything is done ---

    def _look(self) -> list[Json]:
        """Experiments to end; agents, and nodes with pods of clusters, are known after this."""
        self._check_namespace()
        agents: list[Json] = []
        if self._api.may("list", "pods", self._system):
            agents = self._api.list(POD, self._system, self._agents_at.selector)
        rights = needed_rights(self._namespace, self._system, secret_of(agents), trust_of(agents))
        missing = [right for right in rights if not self._api.may(*right)]
        if missing:
            raise HealRefusedError(f"rights are missing, nothing was done: {'; '.join(map(str, missing))}")
        try:
            found = self._api.list(CHAOS_EXPERIMENT, self._namespace)
        except NotFoundError as error:
            raise HealRefusedError(
                "this cluster does not know chaosexperiments.highwater.dev: Highwater is not installed here"
            ) from error
        experiments = [one for one in found if _to_end(one)]
        pods = self._api.list(POD, self._namespace, CLUSTER_LABEL)
        try:
            self._clients = tunnelled(self._api, self._agents_at, agents)
        except TokenError as error:
            raise HealRefusedError(f"{error}; --system-namespace names another namespace") from error
        self._machines = homes_of(agents)
        if not self._clients:
            looked_for = f"{self._agents_at.selector} in namespace {self._system}"
            self._tell(f"no agent runs (looked for {looked_for}; --system-namespace names another one)")
            if not experiments:
                return []  # and no agent that could have injected anything
        for pod in pods:
            self._homes.setdefault(pod["metadata"]["labels"][CLUSTER_LABEL], set()).update(homes_of([pod]))
        self._machines |= homes_of(pods)
        return experiments

    def _check_namespace(self) -> None:
        try:
            missing = self._api.get(NAMESPACE, None, self._namespace) is None
        except KubeError as error:
            if error.status != 403:
                raise
            return  # a caller that may not look it up learns that from the next request
        if missing:
            raise HealRefusedError(f"there is no namespace {self._namespace}")

    def _plan(self, experiments: list[Json]) -> None:
        known: set[str] = set()
        for experiment in experiments:
            name = experiment["metadata"]["name"]
            for entry in open_faults((experiment.get("status") or {}).get("journal") or []):
                known.add(entry["id"])
                self._healed.undone.append(f"{name}: {entry['step']} ({entry['id']})")
            self._healed.ended.append(name)
        in_force, left = self._in_force()
        self._healed.undone += [_words(one) for _, one in in_force if one["id"] not in known]
        self._healed.left += left

    # --- what is done ---

    def _take(self, experiment: Json) -> None:
        """From now on nothing more may begin."""

        def change(now: Json) -> Json | None:
            status = now.get("status") or {}
            if status.get("phase") in ("", "Aborting", *FINAL_PHASES, None):
                return None
            return {"phase": "Aborting", "reason": status.get("reason") or _REASON}

        self._write(experiment, change)

    def _end_runner(self, experiment: Json) -> None:
        """Its Jobs, and their pods with them; one on a machine that does not respond can begin nothing any more."""
        uid = experiment["metadata"]["uid"]
        for job, what in ((run_job_name(uid), "its runner's Job"), (judge_job_name(uid), "its judging Job")):
            if self._api.delete(JOB, self._system, job):
                self._healed.undone.append(f"{experiment['metadata']['name']}: {what}")
        deadline = time.monotonic() + _RUNNER_STOPS_WITHIN
        while time.monotonic() < deadline:
            pods = self._api.list(POD, self._system, {EXPERIMENT_UID_LABEL: uid})
            if all((pod.get("status") or {}).get("phase") in ("Succeeded", "Failed") for pod in pods):
                return
            self._tell(f"waiting for the runner of {experiment['metadata']['name']} to end")
            time.sleep(_POLL)

    def _round(self, experiments: list[Json]) -> list[str]:
        """Heal what journals and agents tell; returns why what is left is left."""
        left: list[str] = []
        journalled: set[str] = set()
        for experiment in experiments:
            name = experiment["metadata"]["name"]
            journal = (self._read(experiment).get("status") or {}).get("journal") or []
            self._seen_open |= {entry["id"] for entry in open_faults(journal)}
            homes = self._homes.get(reference_of(experiment) or name, set())
            healing = heal(journal, self._clients, homes, datetime.now(UTC))
            left += [f"{name}: {one}" for one in healing.left]
            journalled |= {entry["id"] for entry in journal}
            self._note(experiment, healing.journal)
        in_force, silent = self._in_force()
        for node, record in in_force:
            if record["id"] in journalled:
                continue  # of an experiment, which has reported it
            try:
                ended = self._clients[node].heal_fault(record["id"])
            except AgentError as error:
                left.append(f"{_words(record)} at node {node}: {error}")
                continue
            line = f"{_words(record)}: {end_of(ended, node)}"
            if ended["state"] in OVER and NOT_SEEN in line:
                self._unseen[record["id"]] = line
            elif ended["state"] in OVER:
                self._healed.undone.append(line)
            else:
                left.append(f"{_words(record)}: it is still {ended['state']}: {ended.get('error', '')}")
        return left + silent

    def _in_force(self) -> tuple[list[tuple[str, Json]], list[str]]:
        """Faults that agents have in force on pods of the namespace, with their nodes; and who could not be asked."""
        found: list[tuple[str, Json]] = []
        silent = [
            f"node {machine}: no agent is there; what is in force on its pods is not known"
            for machine in sorted(self._machines - set(self._clients))
        ]
        for node, client in self._clients.items():
            try:
                records = client.faults()
            except AgentError as error:
                silent.append(f"node {node}: what is in force on its pods is not known: {error}")
                continue
            found += [
                (node, one)
                for one in records
                if one["state"] not in OVER
                and ((one.get("request") or {}).get("pod") or {}).get("namespace") == self._namespace
            ]
        return found, silent

    def _note(self, experiment: Json, healed: list[Json]) -> None:
        """Write down what is undone, if no other process has; and report it."""
        name = experiment["metadata"]["name"]
        ends = {entry["id"]: entry for entry in healed if entry["state"] == "undone"}

        def change(now: Json) -> Json | None:
            journal = (now.get("status") or {}).get("journal") or []
            if not any(entry["id"] in ends for entry in open_faults(journal)):
                return None
            return {"journal": [ends.get(one["id"], one) if one in open_faults(journal) else one for one in journal]}

        self._write(experiment, change)
        unseen = unseen_faults(healed)
        for fault in sorted(self._seen_open.intersection(ends).union(unseen)):
            line = f"{name}: {ends[fault]['step']} ({fault}): {ends[fault]['evidence']}"
            if fault in unseen:
                self._unseen[fault] = line
            else:
                self._healed.undone.append(line)
        self._seen_open -= set(ends)

    def _end(self, experiment: Json) -> None:
        """The experiment's cluster goes, the verdict is that there is none, and the object may go where it is to."""
        name = experiment["metadata"]["name"]
        found = self._read(experiment)
        if open_faults((found.get("status") or {}).get("journal") or []):
            self._healed.left.append(f"{name}: it stays Aborting, since its faults are not seen to be gone")
            return
        if found:
            self._delete_cluster(experiment)
            self._write(experiment, _completed)
            self._let_go(experiment)
        self._healed.ended.append(name)

    def _delete_cluster(self, experiment: Json) -> None:
        metadata = experiment["metadata"]
        if take_down(self._api, Place(self._namespace, metadata["name"], metadata["uid"])):
            self._healed.undone.append(f"{metadata['name']}: its LogCluster")

    def _let_go(self, experiment: Json) -> None:
        """An object that is being deleted waits for the operator's finalizer: the operator's to take off, while there
        is one that does."""
        operators = self._api.list(POD, self._system, _OPERATOR)
        patience = _OPERATOR_LETS_GO_WITHIN if any(_is_ready(pod) for pod in operators) else 0.0
        deadline = time.monotonic() + patience
        while True:
            found = self._read(experiment)
            finalizers = found.get("metadata", {}).get("finalizers") or []
            if not found or not found["metadata"].get("deletionTimestamp") or FINALIZER not in finalizers:
                return
            if time.monotonic() < deadline:
                self._tell("waiting for the operator to let go of what is being deleted")
                time.sleep(_POLL)
                continue
            rest = [one for one in finalizers if one != FINALIZER]
            try:
                self._api.set_finalizers(CHAOS_EXPERIMENT, found, rest)
            except (NotFoundError, ConflictError):
                continue
            self._healed.undone.append(
                f"{found['metadata']['name']}: the operator's finalizer, since no operator answers"
            )

    # --- small things ---

    def _read(self, experiment: Json) -> Json:
        """As it is now; empty where it is gone, or another of its name is there."""
        found = self._api.get(CHAOS_EXPERIMENT, self._namespace, experiment["metadata"]["name"])
        return {} if found is None or found["metadata"]["uid"] != experiment["metadata"]["uid"] else found

    def _write(self, experiment: Json, change: Callable[[Json], Json | None]) -> None:
        """Merge what ``change`` makes of the experiment, as it is now, into its status; None: nothing."""
        while found := self._read(experiment):
            status = change(found)
            if status is None:
                return
            metadata = found["metadata"]
            try:
                self._api.patch_status(
                    CHAOS_EXPERIMENT,
                    self._namespace,
                    metadata["name"],
                    status,
                    resource_version=metadata["resourceVersion"],
                )
            except (NotFoundError, ConflictError):
                continue  # another writer was faster, the operator perhaps: look again
            return

    def _tell(self, what: str) -> None:
        if what not in self._reported:
            self._reported.add(what)
            self._say(what)


def _to_end(experiment: Json) -> bool:
    """Whether it is under way, has faults open, or waits to be let go of."""
    status, metadata = experiment.get("status") or {}, experiment["metadata"]
    if status.get("phase") not in (None, "", *FINAL_PHASES) or open_faults(status.get("journal") or []):
        return True
    return bool(metadata.get("deletionTimestamp")) and FINALIZER in (metadata.get("finalizers") or [])


def _completed(found: Json) -> Json | None:
    """As the operator ends an experiment that is aborted; None: it is not to be ended, or has been."""
    status = found.get("status") or {}
    if status.get("phase") in ("", *FINAL_PHASES, None):
        return None
    return aborted(found, _REASON)


def _words(record: Json) -> str:
    request = record.get("request") or {}
    return f"{request.get('kind', 'a fault')} on pod {(request.get('pod') or {}).get('name', '?')} ({record['id']})"


def _is_ready(pod: Json) -> bool:
    return condition_of(pod, "Ready", "True") is not None
