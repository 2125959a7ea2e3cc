"""One look at one ChaosExperiment: what is to be done next follows from what the API server has, and nothing else.

============ ==========================================================================================================
no phase     accepted, and then Pending; or Refused, and nothing is made for it
Pending      finalizer, then the runner's Job; then SettingUp
SettingUp    the runner's; what keeps it or its cluster from starting is told, and not waited for for ever. Where the
             cluster does not fit beside that of an earlier experiment, all is given back, and it is Pending again
Steady …     the runner's; followed until it ends
Judging      the runner's too, unless it has handed over (condition ``Recorded``): then it is ended and what is left of
             it undone, and the judging Job is followed until there is a verdict, or it is clear that there will be none
Aborting     both are ended, every open fault healed and seen to be gone, the cluster deleted; then Completed
Completed    nothing
Refused      nothing was made, and nothing holds up its deletion
deleted      as Aborting; then the finalizer goes
============ ==========================================================================================================

Every write is checked against the version that the decision was made on: the writer that comes second looks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from highwater_chaos.backends.kubernetes.conclusion import (
    RECORDED,
    aborted,
    faults_after,
    healed_condition,
    passed_condition,
)
from highwater_chaos.backends.kubernetes.foreign.reference import foreign_reference_of
from highwater_chaos.backends.kubernetes.healing import heal, homes_of, judge_job_name, open_faults, run_job_name
from highwater_chaos.backends.kubernetes.journal import FINAL_PHASES, GIVES_WAY
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.kube.client import RefusedError
from highwater_chaos.kube.conditions import Condition, condition_of, stamp, with_conditions
from highwater_chaos.kube.kinds import (
    CHAOS_EXPERIMENT,
    CLUSTER_LABEL,
    EVENT,
    EXPERIMENT_UID_LABEL,
    FINALIZER,
    JOB,
    LOG_CLUSTER,
    POD,
    Json,
)
from highwater_operator.experiments import contention, metrics, rights
from highwater_operator.experiments.acceptance import Rejection, examine, refusal, without_looking
from highwater_operator.experiments.borrowed_cluster import BorrowedCluster, Waiting
from highwater_operator.experiments.context import ExperimentContext
from highwater_operator.experiments.definitions import shortage
from highwater_operator.experiments.foreign_cluster import ForeignCluster
from highwater_operator.experiments.judge_job import judge_job, why_not_judged
from highwater_operator.experiments.runner_job import JUDGE, RUNNER, runner_job, why_ended
from highwater_operator.experiments.startup import cluster_trouble, goes_first, lacks_room, runner_trouble
from highwater_operator.reconcile.events import EventType, log_about, tell
from highwater_operator.reconcile.log_cluster import Outcome
from highwater_operator.reconcile.pod_troubles import Trouble, is_creating
from highwater_operator.reconcile.status import EARLIER

_STOPS_WITHIN: Final = timedelta(seconds=40)
"""A runner that has not ended by then is on a machine that does not respond; it can do nothing new any more, since it
would have to write that down first."""
_NOT_YET: Final = {
    kind: Condition(kind, "Unknown", "NotYet", "not yet")
    for kind in ("SteadyState", "Injected", "Healed", "Completed", "Passed")
}
_JOB_NAMES: Final = {RUNNER: run_job_name, JUDGE: judge_job_name}


async def reconcile_experiment(context: ExperimentContext, namespace: str, name: str) -> Outcome:
    """Bring one experiment a step further.

    Raises:
        KubeError: the API server did not do its part, or another writer was faster: come back later.
    """
    found = await context.kube.get(CHAOS_EXPERIMENT, namespace, name)
    if found is None:
        metrics.EXPERIMENTS.forget(namespace, name)
        context.reported_phases.pop((namespace, name), None)
        return Outcome(None, settled=True)
    metrics.EXPERIMENTS.remember(found)
    return await _Look(context, found).run()


class _Look:
    def __init__(self, context: ExperimentContext, found: Json) -> None:
        self._context = context
        self._kube = context.kube
        self._found: Json = {"apiVersion": CHAOS_EXPERIMENT.api_version, "kind": CHAOS_EXPERIMENT.kind, **found}
        self._metadata: Json = found["metadata"]
        self._status: Json = found.get("status") or {}
        reference = foreign_reference_of(self._found)
        self._borrowed: BorrowedCluster | ForeignCluster = (
            BorrowedCluster(context, self._found)
            if reference is None
            else ForeignCluster(context, self._found, reference)
        )

    @property
    def _over(self) -> Outcome:
        """Nothing is to be done, but to notice that it was deleted: a watch that was interrupted does not tell."""
        return Outcome(self._context.pace.over, settled=True)

    @property
    def _uid(self) -> str:
        return str(self._metadata["uid"])

    async def run(self) -> Outcome:
        phase = self._status.get("phase") or ""
        if self._metadata.get("deletionTimestamp"):
            return await self._let_go(phase)
        await self._tell_phase(phase)
        match phase:
            case "":
                return await self._examine()
            case "Pending":
                return await self._start()
            case "Judging" if self._condition(RECORDED, "True"):
                return await self._judge()
            case "Completed":
                return await self._release()
            case "Refused":
                await self._drop_finalizer()
                return self._over
            case "Aborting":
                return await self._end()
            case _:
                return await self._follow()

    # --- beginning ---

    async def _examine(self) -> Outcome:
        verdict: ChaosExperiment | Rejection | Waiting | None
        verdict = without_looking(self._found, has_agents=self._context.has_agents)
        if verdict is None and (short := await shortage(self._kube)) is not None and short.refuses:
            verdict = Rejection(short.reason, short.message)
        if verdict is None:
            verdict = await self._borrowed.examine() if self._borrowed.wanted else examine(self._found)
        if isinstance(verdict, Waiting):
            return await self._wait(verdict)
        if not isinstance(verdict, Rejection) and not self._borrowed.wanted:
            taken = await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"])
            if taken is not None and taken["metadata"].get("deletionTimestamp") and not self._owns(taken):
                what = f"LogCluster {self._metadata['name']} of an earlier experiment of this name is being deleted"
                return await self._wait(Waiting(EARLIER, what))
            if taken is not None and not self._owns(taken):
                verdict = Rejection(
                    "ClusterNameTaken",
                    f"LogCluster {self._metadata['name']} is there and is not this experiment's:"
                    " name the experiment otherwise",
                )
        if isinstance(verdict, Rejection):
            return await self._refuse(verdict)
        async with self._context.accepting:
            not_now = await contention.why_not_now(self._context, self._found, self._borrowed.cluster_id)
            if isinstance(not_now, Waiting):
                return await self._wait(not_now)
            return await (self._accept() if not_now is None else self._refuse(not_now))

    async def _accept(self) -> Outcome:
        if FINALIZER not in (self._metadata.get("finalizers") or []):
            await self._set_finalizers([*(self._metadata.get("finalizers") or []), FINALIZER])
        if (not_held := await self._borrowed.take()) is not None:
            return await self._refuse(not_held)
        begun = {"phase": "Pending", "startedAt": self._stamp(), "observedGeneration": self._metadata["generation"]}
        if self._borrowed.cluster_id:
            begun["clusterId"] = self._borrowed.cluster_id
        accepted = Condition("Accepted", "True", "Valid", "the experiment can be run")
        await self._write(begun, accepted, *_NOT_YET.values())
        return Outcome(0.0)

    async def _refuse(self, rejection: Rejection) -> Outcome:
        ended = refusal(rejection)
        seen = {"completedAt": self._stamp(), "observedGeneration": self._metadata["generation"]}
        await self._borrowed.give_back(None)
        await self._write({**ended.status, **seen}, *ended.conditions)
        await self._tell_phase("Refused")
        return self._over

    async def _wait(self, waiting: Waiting) -> Outcome:
        """Say what the experiment waits for, each new reason once."""
        before = self._condition("Accepted")
        if before is None or before["message"] != waiting.message:
            await self._write({}, Condition("Accepted", "Unknown", waiting.reason, waiting.message))
            await self._tell("Normal", waiting.reason, waiting.message)
        return Outcome(self._context.pace.ending)

    async def _start(self) -> Outcome:
        steady = self._condition("SteadyState")
        if steady is not None and steady["reason"] == GIVES_WAY:
            if goes_first(self._found_now, await contention.experiments(self._context)) is not None:
                return Outcome(self._context.pace.running)
            await self._write({}, _NOT_YET["SteadyState"])
        experiment = await self._borrowed.resolve() if self._borrowed.wanted else examine(self._found)
        if isinstance(experiment, Rejection):  # an operator of another version had accepted it
            return await self._abort(f"not accepted any more: {experiment.message}")
        access = await self._borrowed.access()
        if isinstance(access, Rejection):
            return await self._abort(access.message)
        job = runner_job(self._context, self._found, experiment)
        await rights.start(self._context, self._found, RUNNER, job, access)
        await self._write({"phase": "SettingUp"})
        return Outcome(self._context.pace.running)

    # --- under way ---

    async def _follow(self) -> Outcome:
        namespace = self._context.runners.namespace
        job = await self._kube.get(JOB, namespace, run_job_name(self._uid))
        steady = self._condition("SteadyState")
        if self._status.get("phase") == "SettingUp" and steady is not None and steady["reason"] == GIVES_WAY:
            return await self._give_way(steady["message"])
        pods = await self._kube.list(POD, namespace, self._pods_of(RUNNER))
        why = why_ended(job, pods)
        # A runner that is asked to stop ends its run, and keeps what it has recorded. Until Kubernetes 1.30 its Job has
        # failed by then.
        is_stopping = any(pod["metadata"].get("deletionTimestamp") and self._may_act(pod) for pod in pods)
        if why is not None and not is_stopping:
            return await self._abort(why)
        if self._status.get("phase") == "SettingUp" and job is not None:
            return await self._look_at_start(job, pods, steady)
        return Outcome(self._context.pace.running)

    async def _look_at_start(self, job: Json, pods: list[Json], steady: Json | None) -> Outcome:
        """What keeps it from starting, if anything does: said at once, and waited for only so long."""
        trouble, pace = await self._start_trouble(job, pods), self._context.pace
        if trouble is None:
            if steady is not None and steady["status"] == "False":
                await self._write({}, _NOT_YET["SteadyState"])
            return Outcome(pace.running)
        waited = timedelta()
        if steady is not None and steady["status"] == "False":
            waited = self._context.now() - datetime.fromisoformat(steady["lastTransitionTime"])
        if waited > timedelta(seconds=pace.start_within):
            return await self._abort(f"not started within {pace.start_within:g} s: {trouble}")
        if waited >= timedelta(seconds=pace.give_way_after) and lacks_room(trouble) and not self._borrowed.wanted:
            first = goes_first(self._found_now, await contention.experiments(self._context))
            if first is not None:
                whose = f"{first['metadata']['namespace']}/{first['metadata']['name']}"
                message = f"waits for chaosexperiment {whose}, which was accepted before: {trouble}"
                await self._write({}, Condition("SteadyState", "False", GIVES_WAY, message))
                await self._tell("Warning", GIVES_WAY, message)
                return Outcome(0.0)
        if steady is None or (steady["reason"], steady["message"]) != (trouble.reason, trouble.message[:2000]):
            await self._write({}, Condition("SteadyState", "False", trouble.reason, trouble.message[:2000]))
            await self._tell("Warning", trouble.reason, trouble.message)
        return Outcome(pace.ending)

    async def _start_trouble(self, job: Json, pods: list[Json]) -> Trouble | None:
        namespace = self._context.runners.namespace
        about = next((pod for pod in pods if is_creating(pod)), None)
        pod_events = [] if about is None else await self._events(namespace, about)
        job_events = [] if pods else await self._events(namespace, job)
        trouble = runner_trouble(pods, pod_events, job_events)
        if trouble is not None or self._borrowed.wanted:
            return trouble
        cluster = await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"])
        return cluster_trouble(cluster) if cluster is None or self._owns(cluster) else None

    async def _events(self, namespace: str, about: Json) -> list[Json]:
        try:
            return await self._kube.list(EVENT, namespace, fields={"involvedObject.uid": about["metadata"]["uid"]})
        except RefusedError as error:  # an operator that is newer than its Role
            log_about(self._found, "Warning", "events of the runner cannot be read", error=str(error))
            return []

    async def _give_way(self, message: str) -> Outcome:
        """Give back what it holds, and begin again later: nothing was injected yet."""
        waiting = await self._undo(RUNNER)
        if waiting is not None:
            return waiting
        if await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"]) is not None:
            return Outcome(self._context.pace.ending)
        gives_way = Condition("SteadyState", "False", GIVES_WAY, message)
        await self._write({"phase": "Pending"}, gives_way, _NOT_YET["Healed"])
        return Outcome(self._context.pace.running)

    async def _judge(self) -> Outcome:
        """The run is recorded, and kept: have it judged."""
        namespace, name = self._context.runners.namespace, judge_job_name(self._uid)
        job = await self._kube.get(JOB, namespace, name)
        if job is None:
            recorded = self._condition(RECORDED) or {}
            waiting = await self._undo(RUNNER) or await self._give_back(recorded.get("lastTransitionTime"))
            if waiting is not None:
                return waiting
            await rights.start(self._context, self._found, JUDGE, judge_job(self._context, self._found))
            return Outcome(self._context.pace.running)
        pods = await self._kube.list(POD, namespace, self._pods_of(JUDGE))
        why = why_not_judged(job, pods, self._context.now(), self._context.pace.judge_image_within)
        if why is None:
            return Outcome(self._context.pace.running)
        await self._give_up_judging(why)
        if (job.get("status") or {}).get("active"):  # one that has ended stays for a while, for its log
            await self._kube.delete(JOB, namespace, name)
        return Outcome(0.0)

    async def _give_up_judging(self, why: str) -> None:
        name, namespace = self._metadata["name"], self._metadata["namespace"]
        by_hand = f"highwater report cx/{name} --namespace {namespace}, then highwater check on the directory"
        reason = f"recorded, but not judged: {why[:1500]}; the recordings are kept, judge them by hand: {by_hand}"
        await self._write(
            {
                "phase": "Completed",
                "verdict": "inconclusive",
                "expected": False,
                "reason": reason,
                "completedAt": self._stamp(),
            },
            Condition("Completed", "True", "NotJudged", reason),
            passed_condition("inconclusive", reason),
        )
        await self._tell("Warning", "NotJudged", reason[:1000])

    async def _abort(self, why: str) -> Outcome:
        await self._write({"phase": "Aborting", "reason": self._status.get("reason") or why[:2000]})
        await self._tell_abort(why)
        return Outcome(0.0)

    # --- ending ---

    async def _end(self) -> Outcome:
        """From Aborting to Completed."""
        waiting = await self._undo()
        if waiting is not None:
            return waiting
        await self._patch(aborted(self._found_now, "the experiment was aborted", self._context.now()))
        return self._over

    async def _release(self) -> Outcome:
        """Of a Completed one nothing holds up its deletion, once nothing of it is left; its Jobs may do nothing."""
        waiting = await self._give_back(self._status.get("completedAt"))
        if waiting is not None:
            return waiting
        components = (RUNNER,) if self._condition(RECORDED) is None else (RUNNER, JUDGE)
        if not await rights.withdraw_from_ended(self._context, self._uid, *components):
            return Outcome(self._context.pace.ending)
        if self._condition("Healed", "True") is None or open_faults(self._status.get("journal") or []):
            return self._over
        cluster = await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"])
        if cluster is None or not self._owns(cluster):
            await self._drop_finalizer()
            return self._over
        if not cluster["metadata"].get("deletionTimestamp"):
            return self._over  # the runner may still be taking it down; deletion takes the cluster along
        return Outcome(self._context.pace.ending)

    async def _let_go(self, phase: str) -> Outcome:
        if FINALIZER not in (self._metadata.get("finalizers") or []):
            return self._over
        if phase not in ("", "Aborting", *FINAL_PHASES):
            await self._write({"phase": "Aborting", "reason": "deleted before it was over"})
            await self._tell_abort("deleted before it was over")
            return Outcome(0.0)
        waiting = await self._undo() or await self._give_back(self._metadata["deletionTimestamp"])
        if waiting is not None:
            return waiting
        await self._drop_finalizer()
        return self._over

    async def _undo(self, *components: str) -> Outcome | None:
        """End the Jobs (of these components; none named: all), heal, verify, delete the cluster; None: that is so."""
        components = components or (RUNNER, JUDGE)
        if await self._jobs_live(components):
            return Outcome(self._context.pace.ending)
        await rights.withdraw(self._context, self._uid, *components)
        journal = self._status.get("journal") or []
        homes = await self._homes() if open_faults(journal) else set()
        healing = await asyncio.to_thread(heal, journal, await self._agents(), homes, self._context.now())
        await self._note(healing.journal, healing.left)
        if healing.left:
            return Outcome(self._context.pace.healing)
        if self._borrowed.wanted:
            return None
        cluster = await self._kube.get(LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"])
        if cluster is not None and self._owns(cluster):
            await self._kube.delete(
                LOG_CLUSTER, self._metadata["namespace"], self._metadata["name"], uid=cluster["metadata"]["uid"]
            )
        return None

    async def _note(self, journal: list[Json], left: list[str]) -> None:
        condition = healed_condition(journal, left)
        written = self._condition("Healed", condition.status)
        if written is None or written["message"] != condition.message or journal != (self._status.get("journal") or []):
            await self._write({"journal": journal, **faults_after({**self._status, "journal": journal})}, condition)
            severity: EventType = "Normal" if condition.status == "True" else "Warning"
            await self._tell(severity, condition.reason, condition.message)

    async def _jobs_live(self, components: Sequence[str]) -> bool:
        """Delete them; whether a pod of one may still do something."""
        namespace = self._context.runners.namespace
        lives = False
        for component in components:
            await self._kube.delete(JOB, namespace, _JOB_NAMES[component](self._uid))
            for pod in await self._kube.list(POD, namespace, self._pods_of(component)):
                lives |= self._may_act(pod)
        return lives

    def _may_act(self, pod: Json) -> bool:
        """Whether a pod may still do something."""
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return False
        deleted_at = pod["metadata"].get("deletionTimestamp")
        return deleted_at is None or self._context.now() - datetime.fromisoformat(deleted_at) < _STOPS_WITHIN

    def _pods_of(self, component: str) -> dict[str, str]:
        return {EXPERIMENT_UID_LABEL: self._uid, "app.kubernetes.io/component": component}

    async def _agents(self) -> dict[str, Any]:
        pods = await self._kube.list(POD, self._context.agents.namespace, self._context.agents.labels)
        return dict(self._context.agents.clients(pods))

    async def _homes(self) -> set[str]:
        """Nodes with pods of the cluster."""
        if self._borrowed.wanted:
            return homes_of(await self._borrowed.pods())
        labels = {CLUSTER_LABEL: self._metadata["name"]}
        return homes_of(await self._kube.list(POD, self._metadata["namespace"], labels))

    async def _give_back(self, since: str | None) -> Outcome | None:
        waiting = await self._borrowed.give_back(since)
        if waiting is None and self._status.get("ownTopics") is not None:
            await self._write({"ownTopics": None})
        return waiting

    # --- small things ---

    @property
    def _found_now(self) -> Json:
        return {"metadata": self._metadata, "status": self._status}

    def _owns(self, manifest: Json) -> bool:
        return any(one["uid"] == self._uid for one in manifest["metadata"].get("ownerReferences") or [])

    def _condition(self, kind: str, status: str | None = None) -> Json | None:
        return condition_of({"status": self._status}, kind, status)

    async def _write(self, status: Json, *news: Condition) -> None:
        """Into the status, if it still is what was read."""
        conditions = with_conditions(self._found_now, *news, at=self._context.now())
        await self._patch({**status, "conditions": conditions})

    async def _patch(self, status: Json) -> None:
        where = self._metadata["namespace"], self._metadata["name"]
        version = self._metadata["resourceVersion"]
        self._take(await self._kube.patch_status(CHAOS_EXPERIMENT, *where, status, resource_version=version))

    async def _set_finalizers(self, finalizers: list[str]) -> None:
        self._take(await self._kube.set_finalizers(CHAOS_EXPERIMENT, {"metadata": self._metadata}, finalizers))

    async def _drop_finalizer(self) -> None:
        finalizers = list(self._metadata.get("finalizers") or [])
        if FINALIZER in finalizers:
            await self._set_finalizers([one for one in finalizers if one != FINALIZER])

    def _take(self, found: Json) -> None:
        self._metadata = found["metadata"]
        self._status = found.get("status") or {}
        metrics.EXPERIMENTS.remember(found)

    async def _tell(self, type_: EventType, reason: str, message: str, change: Json | None = None) -> None:
        now = self._context.now()
        await tell(self._kube, self._found, type_, reason, message, now, once=True, change=change)

    async def _tell_abort(self, why: str) -> None:
        self._context.reported_phases[self._metadata["namespace"], self._metadata["name"]] = (self._uid, "Aborting")
        await self._tell("Warning", "Aborting", why, _change("Aborting", reason=why))

    async def _tell_phase(self, phase: str) -> None:
        """An Event and a line for each phase that the runner went through, as far as the operator saw it."""
        key, reported = (self._metadata["namespace"], self._metadata["name"]), (self._uid, phase)
        if not phase or self._context.reported_phases.get(key) == reported:
            return
        self._context.reported_phases[key] = reported
        verdict, reason = self._status.get("verdict", ""), self._status.get("reason", "")
        if phase == "Completed":
            metrics.count_verdict(verdict or "inconclusive")
            change = _change(phase, verdict=verdict, reason=reason)
            await self._tell("Normal", "Completed", f"{verdict}: {reason}", change)
        elif phase == "Refused":
            accepted = self._condition("Accepted") or {"reason": phase, "message": reason}
            change = _change(phase, reason=accepted["message"])
            await self._tell("Warning", accepted["reason"], accepted["message"], change)
        elif phase == "Aborting":
            log_about(self._found, "Warning", **_change(phase, reason=reason))
        else:
            await self._tell("Normal", phase, f"the experiment is {phase}", _change(phase))

    def _stamp(self) -> str:
        return stamp(self._context.now())


def _change(phase: str, **fields: str) -> Json:
    return {"event": "phase changed", "phase": phase, **fields}
