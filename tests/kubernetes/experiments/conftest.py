"""The operator's part for experiments in a thread; runners are pretended pods, agents fakes at their HTTP boundary."""

from __future__ import annotations

import asyncio
import functools
import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from api_server.world import PENDING, READY, Outcome, World
from experiments.agents import TOKEN, TRUST, FakeAgent
from experiments.broken_pods import Run, impatient_run
from experiments.real_world import ActingAgent, RestartingNodes
from experiments.recorded import Recorded, record
from log_cluster.real_nodes import PACE
from operator_thread import OperatorThread
from waiting import until

from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.backends.kubernetes.archive import store_recordings
from highwater_chaos.backends.kubernetes.claim import Claim
from highwater_chaos.kube.client import Kube, RefusedError
from highwater_chaos.kube.conditions import Condition, with_conditions
from highwater_chaos.kubernetes_jobs.judge import Judge
from highwater_chaos.kubernetes_jobs.runner import EarlyEnd, Runner
from highwater_chaos.verdict.check import check_recordings
from highwater_operator.admin import wire_admin
from highwater_operator.experiments.context import ExperimentContext, ExperimentPace, JudgingSettings, RunnerSettings
from highwater_operator.kube import AsyncKube
from highwater_operator.main import Options, operate
from highwater_operator.objects.images import Images
from highwater_operator.reconcile.context import Context, Pace

SYSTEM = "highwater-system"
PATIENCE = 120.0
KIND = ("highwater.dev/v1alpha1", "ChaosExperiment")
Json = dict[str, Any]


def experiment(name: str = "demo", **spec: Any) -> Json:
    return {
        "apiVersion": KIND[0],
        "kind": KIND[1],
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"timeout": "2m", "cluster": {"brokers": 3, "topics": [{"name": "orders"}]}, **spec},
    }


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A run over pods whose faults can be broken."""
    with impatient_run(monkeypatch) as made:
        yield made


def _decide(pod: Json) -> Outcome:
    # A runner's pod runs until the test ends it.
    return PENDING if pod["spec"].get("restartPolicy") == "Never" else READY


class ExperimentStage:
    """API server, miniature cluster, two agents, and the operator: started and stopped as a test likes."""

    def __init__(self, api: Any, world: World, agents: list[FakeAgent], token_file: Path) -> None:
        self.api = api
        self.world = world
        self.agents = agents
        self._token_file = token_file
        self.open_admin: Any = None
        self.pace = ExperimentPace(0.3, 0.1, 0.2)
        self.cluster_pace = Pace(2.0, 0.5, 0.3)
        self.judging = JudgingSettings()
        self.claim = ""
        self.nodes: Any = None
        self.has_agents = True
        self.token: str | None = None
        self._operator: OperatorThread | None = None

    def start(self) -> None:
        async def serve(stop: asyncio.Event, ready: Callable[[], None]) -> None:
            kube = AsyncKube(self.api.configuration(self.token), patience=2.0)
            try:
                admin = {} if self.open_admin is None else {"open_admin": self.open_admin}
                context = Context(
                    kube, Images("highwater/node:test"), pace=self.cluster_pace, has_agents=self.has_agents, **admin
                )
                await operate(
                    context,
                    Options(liveness=None, metrics_port=None),
                    stop=stop,
                    ready=ready,
                    experiments=ExperimentContext(
                        kube,
                        RunnerSettings(SYSTEM, recordings_claim=self.claim),
                        AgentSettings(SYSTEM, token_file=self._token_file, trust=TRUST, patience=0.3),
                        self.pace,
                        judging=self.judging,
                        has_agents=self.has_agents,
                        **admin,
                    ),
                )
            finally:
                kube.close()

        self._operator = OperatorThread(self.api, serve)
        assert self._operator.error is None

    def begin(self, name: str = "demo") -> None:
        """Start, and have an experiment with a runner."""
        self.start()
        self.api.create(experiment(name))
        until(self.runner_pods, "the runner")

    def stop(self) -> None:
        operator, self._operator = self._operator, None
        if operator is not None:
            operator.stop()

    def cut_off_around_a_write(self, when: str, skip: int, done: Callable[[], Any]) -> None:
        """The operator is started, loses the API server ``when`` (before, after) its n-th write, unless all is ``done``
        before; another one takes over."""
        met = self.api.fault(verb="patch", when=when, skip=skip, times=None, reset=True)
        self.start()
        until(lambda: len(met.hits) > 0 or done(), "a write to be cut off")
        self.stop()
        self.api.faults.clear()
        self.start()

    # --- looking ---

    def get(self, name: str = "demo") -> Json | None:
        found: Json | None = self.api.get(*KIND, name, "default")
        return found

    def status(self, name: str = "demo") -> Json:
        found = self.get(name)
        return {} if found is None else found.get("status", {})

    def phase(self, name: str = "demo") -> str:
        return str(self.status(name).get("phase", ""))

    def condition(self, kind: str, name: str = "demo") -> Json:
        return next((one for one in self.status(name).get("conditions", []) if one["type"] == kind), {})

    def jobs(self) -> list[Json]:
        return list(self.api.objects("batch/v1", "Job", SYSTEM))

    def accounts(self) -> list[str]:
        """Those of experiments' Jobs."""
        found = [one["metadata"] for one in self.api.objects("v1", "ServiceAccount", SYSTEM)]
        return [one["name"] for one in found if "highwater.dev/experiment-uid" in one.get("labels", {})]

    def runner_pods(self, component: str = "runner") -> list[str]:
        wanted = {"app.kubernetes.io/component": component, "app.kubernetes.io/managed-by": "highwater-operator"}
        pods = [one["metadata"] for one in self.api.objects("v1", "Pod", SYSTEM)]
        assert all(
            "highwater.dev/experiment-uid" in one["labels"] for one in pods if wanted.items() <= one["labels"].items()
        )
        return [one["name"] for one in pods if wanted.items() <= one["labels"].items()]

    def journal(self, name: str = "demo") -> dict[str, str]:
        return {one["id"]: one["state"] for one in self.status(name).get("journal", [])}

    def place(self, agent: FakeAgent, node: str, port: int | None = None) -> None:
        """Have the agent's pod on a node, and its address; ``port``: where it says that it listens."""
        pod = agent.manifest(node)
        pod["metadata"]["annotations"] |= {} if port is None else {"highwater.dev/agent-port": str(port)}
        self.api.create(pod)
        self.world.settle()
        address = {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
        self.api.patch("v1", "Pod", pod["metadata"]["name"], SYSTEM, {"status": address}, "status")

    # --- what a runner does ---

    def inject(
        self,
        agent: FakeAgent,
        number: int,
        state: str = "done",
        name: str = "demo",
        ask: bool = True,
        deadline: str = "2099-01-01T00:00:00Z",
    ) -> str:
        """As a runner writes a fault down and asks for it; ``state`` is how far it got with writing."""
        found = self.get(name)
        assert found is not None
        fault = f"{found['metadata']['uid']}-{number}"
        entry = {
            "id": fault,
            "step": "pause broker-0",
            "state": state,
            "at": "2026-01-01T00:00:00Z",
            "targets": ["demo-broker-0"],
            "deadline": deadline,
            "evidence": "",
        }
        journal = [*found.get("status", {}).get("journal", []), entry]
        self.api.patch(*KIND, name, "default", {"status": {"phase": "Injecting", "journal": journal}}, "status")
        if ask:
            body = {"kind": "pause", "pod": {}, "deadline": deadline}
            assert agent.serve("PUT", f"/v1/faults/{fault}", json.dumps(body).encode())[0] == 200
        return fault

    def end_runner(self, exit_code: int = 137, component: str = "runner") -> None:
        for name in self.runner_pods(component):
            if self.api.get("v1", "Pod", name, SYSTEM)["status"].get("phase") in ("Succeeded", "Failed"):
                continue
            until(lambda name=name: (SYSTEM, name) in self.world.pods.started, f"{name} to be started")
            self.world.pods.become(SYSTEM, name, Outcome("finished", exit_code))


MANIFESTS = Path(__file__).parents[3] / "manifests"
RBAC = MANIFESTS / "base" / "rbac"
JUDGING = MANIFESTS / "components" / "judging"


@contextmanager
def real_stage(
    kube_api: Any, tmp_path: Path, kind: type[RestartingNodes] = RestartingNodes, rights: Sequence[Json] = ()
) -> Iterator[Any]:
    """Real nodes, an agent that acts on them, runners and judges; the operator is to be started. ``rights``: what a
    namespace gives the operator beside those that are shipped."""
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    agents = AgentSettings(SYSTEM, token_file=token_file, trust=TRUST)
    kube_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})

    def mounted(container: Any) -> Claim | None:
        """The folder of the claim that the pod asks for, as the kubelet makes it."""
        environment = {one["name"]: one.get("value", "") for one in container.get("env", [])}
        claim = Claim.from_environment(environment)
        mounts = [one for one in container["volumeMounts"] if one["name"] == "recordings"]
        assert (claim is None) == (mounts == [])
        if claim is None:
            return None
        assert str(claim.directory) == mounts[0]["mountPath"]
        folder = tmp_path / "claim" / mounts[0]["subPath"]
        folder.mkdir(parents=True, exist_ok=True)
        return replace(claim, directory=folder)

    def access_of(pod: Any) -> Path | None:
        """What the pod mounts to get into a cluster with security."""
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        if (volume := volumes.get("cluster")) is None:
            return None
        (folder := tmp_path / "access").mkdir(exist_ok=True)
        for name, content in kube_api.get("v1", "Secret", volume["secret"]["secretName"], SYSTEM)["data"].items():
            (folder / name).write_bytes(b64decode(content))
        return folder

    # With the rights that are shipped, and no others.
    for file in (RBAC / "runner.yaml", JUDGING / "rbac.yaml"):
        kube_api.apply_file(file)
    rules = [one for one in yaml.safe_load_all((RBAC / "operator.yaml").read_text()) if one is not None]
    users = {
        "operator": kube_api.authorizer.add_manifests("operator", f"{SYSTEM}/highwater-operator", [*rules, *rights])
    }

    def run(pod: Any) -> int:
        if stage.runner is not None:
            return int(stage.runner(pod))
        account = pod["spec"]["serviceAccountName"]
        users[account] = kube_api.authorizer.add_account(account, f"{SYSTEM}/{account}", kube_api.objects)
        container = pod["spec"]["containers"][0]
        claim = mounted(container)
        arguments = container["args"]
        if container["name"] == "judge":
            api = Kube(kube_api.configuration(account), patience=5.0)
            return Judge(api, *arguments[1].split("/"), arguments[3], judge=check_recordings, claim=claim).run()
        namespace, _, name = arguments[1].partition("/")
        api = Kube(kube_api.configuration(account), patience=5.0)
        stage.early_ends.append(EarlyEnd())
        runner = Runner(
            api,
            agents,
            namespace,
            name,
            arguments[3],
            at=nodes.at,
            hands_over="--hand-over" in arguments,
            claim=claim,
            early_end=stage.early_ends[-1],
            access=access_of(pod),
        )
        try:
            return runner.run()
        except RefusedError:
            # A process of a pod that was deleted would be gone.
            assert kube_api.get("v1", "ServiceAccount", account, SYSTEM) is None
            return 137

    nodes = kind(kube_api, tmp_path, run)
    with ActingAgent(lambda: nodes) as agent, World(kube_api, nodes) as world:
        stage = ExperimentStage(kube_api, world, [agent], token_file)
        stage.open_admin = functools.partial(wire_admin, at=nodes.at)
        stage.nodes = nodes
        stage.pace, stage.cluster_pace = ExperimentPace(1.0, 0.3, 0.5), PACE
        stage.early_ends = []
        stage.runner = None
        stage.users = users
        stage.token = "operator"
        stage.place(agent, "node-0")
        try:
            yield stage
            assert [str(one) for user in users.values() for one in user.refused] == []
        finally:
            stage.stop()
            nodes.close()


@pytest.fixture
def real(kube_api: Any, tmp_path: Path) -> Iterator[Any]:
    with real_stage(kube_api, tmp_path) as made:
        yield made


@pytest.fixture
def stage(kube_api: Any, tmp_path: Path) -> Iterator[ExperimentStage]:
    """Everything but the operator runs."""
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN)
    kube_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    for who in ("runner", "judge"):
        account = {"name": f"highwater-{who}", "namespace": SYSTEM}
        kube_api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    with FakeAgent() as one, FakeAgent() as two, World(kube_api, nodes=2) as world:
        world.pods.decide = _decide
        made = ExperimentStage(kube_api, world, [one, two], token_file)
        for index, agent in enumerate(made.agents):
            made.place(agent, f"node-{index}")
        try:
            yield made
        finally:
            made.stop()


def handed_over(api: Any, run: Recorded, name: str = "demo") -> Any:
    """An experiment as a judging pod finds it."""
    made = api.create(experiment(name))
    conditions = with_conditions(made, Condition("Recorded", "True", "Kept", "kept"))
    found = api.patch(*KIND, name, "default", {"status": {"phase": "Judging", "conditions": conditions}}, "status")
    assert store_recordings(Kube(api.configuration()), found, run.directory)
    return found


@pytest.fixture(scope="session")
def passing(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("passing"), passes=True)


@pytest.fixture(scope="session")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("failing"), passes=False)
