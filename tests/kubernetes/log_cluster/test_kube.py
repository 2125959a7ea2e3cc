"""Access to the API server: what is asked again, what is told at once, and what is never done twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from highwater_chaos.kube import client
from highwater_chaos.kube.client import ConflictError, Kube, RefusedError, UnavailableError
from highwater_chaos.kube.kinds import CONFIG_MAP, LOG_CLUSTER, POD
from highwater_operator.kube import FIELD_MANAGER, AsyncKube


@pytest.fixture
def play(kube_api: Any) -> Callable[[Callable[[AsyncKube], Any]], Any]:
    def run(story: Callable[[AsyncKube], Any]) -> Any:
        kube = AsyncKube(kube_api.configuration(), patience=2.0)
        try:
            return asyncio.run(story(kube))
        finally:
            kube.close()

    return run


def config_map(name: str = "one", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def test_apply_owns_what_it_says_and_leaves_the_rest(play: Any, kube_api: Any) -> None:
    async def story(kube: AsyncKube) -> None:
        await kube.apply(config_map(a="1", b="2"))
        kube_api.patch("v1", "ConfigMap", "one", "default", {"data": {"c": "theirs", "a": "theirs"}})
        await kube.apply(config_map(a="1"))

    play(story)
    live = kube_api.get("v1", "ConfigMap", "one", "default")
    assert live["data"] == {"a": "1", "c": "theirs"}, "b was ours and is gone, a is ours again, c is theirs"
    assert FIELD_MANAGER in {entry["manager"] for entry in live["metadata"]["managedFields"]}


def test_absence_is_an_answer(play: Any) -> None:
    async def story(kube: AsyncKube) -> tuple[Any, bool]:
        return await kube.get(CONFIG_MAP, "default", "none"), await kube.delete(POD, "default", "none")

    assert play(story) == (None, False)


def test_lists_are_whole_and_selected(play: Any, kube_api: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("highwater_chaos.kube.client._PAGE", 3)
    for n in range(8):
        made = config_map(f"m-{n}")
        made["metadata"]["labels"] = {"even": str(n % 2 == 0).lower()}
        kube_api.create(made)

    async def story(kube: AsyncKube) -> tuple[Any, Any]:
        return await kube.list(CONFIG_MAP, "default"), await kube.list(CONFIG_MAP, None, {"even": "true"})

    everything, even = play(story)
    assert len({one["metadata"]["name"] for one in everything} & {f"m-{n}" for n in range(8)}) == 8
    assert [one["metadata"]["name"] for one in even] == ["m-0", "m-2", "m-4", "m-6"]
    assert {(one["apiVersion"], one["kind"]) for one in even} == {("v1", "ConfigMap")}


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"status": 429}, {"reset": True}], ids=str)
def test_bad_answers_are_asked_again(play: Any, kube_api: Any, fault: dict[str, Any]) -> None:
    met = kube_api.fault(**fault, times=2)
    play(lambda kube: kube.apply(config_map()))
    assert len(met.hits) == 2
    assert kube_api.get("v1", "ConfigMap", "one", "default") is not None


def test_retry_after_is_heeded(play: Any, kube_api: Any) -> None:
    kube_api.fault(status=429, retry_after=1, times=1)
    began = time.monotonic()
    play(lambda kube: kube.apply(config_map()))
    assert time.monotonic() - began >= 1.0


def test_whoever_asks_for_more_time_than_there_is_gets_none(play: Any, kube_api: Any) -> None:
    met = kube_api.fault(status=429, retry_after=3600, times=None)
    with pytest.raises(UnavailableError, match="429"):
        play(lambda kube: kube.apply(config_map()))
    assert len(met.hits) == 1


def test_patience_ends(play: Any, kube_api: Any) -> None:
    kube_api.fault(status=503, times=None)
    with pytest.raises(UnavailableError, match="apply configmaps default/one: 503: injected"):
        play(lambda kube: kube.apply(config_map()))


def test_refusals_are_told_at_once(play: Any, kube_api: Any) -> None:
    met = kube_api.fault(status=403, times=None)
    with pytest.raises(RefusedError, match="403"):
        play(lambda kube: kube.apply(config_map()))
    assert len(met.hits) == 1


def test_a_status_is_written_over_what_was_read_only(play: Any, kube_api: Any) -> None:
    kube_api.create(
        {
            "apiVersion": "highwater.dev/v1alpha1",
            "kind": "LogCluster",
            "metadata": {"name": "demo", "namespace": "default"},
            "spec": {},
        }
    )

    async def story(kube: AsyncKube) -> None:
        found = await kube.get(LOG_CLUSTER, "default", "demo")
        assert found is not None
        version = found["metadata"]["resourceVersion"]
        await kube.patch_status(LOG_CLUSTER, "default", "demo", {"phase": "One"}, resource_version=version)
        with pytest.raises(ConflictError):
            await kube.patch_status(LOG_CLUSTER, "default", "demo", {"phase": "Two"}, resource_version=version)

    play(story)
    assert kube_api.get("highwater.dev/v1alpha1", "LogCluster", "demo", "default")["status"]["phase"] == "One"


def test_only_the_object_that_was_meant_is_deleted(play: Any, kube_api: Any) -> None:
    kube_api.create(config_map())
    assert play(lambda kube: kube.delete(CONFIG_MAP, "default", "one", uid="another")) is False
    assert kube_api.get("v1", "ConfigMap", "one", "default") is not None


def test_creating_twice_is_a_conflict(play: Any) -> None:
    async def story(kube: AsyncKube) -> None:
        await kube.create(config_map())
        with pytest.raises(ConflictError):
            await kube.create(config_map())

    play(story)


def test_a_log_has_the_life_before_and_is_bounded(kube_api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_LOG", 20)
    meta = {"name": "k-0", "namespace": "default"}
    spec = {"containers": [{"name": "node", "image": "node"}]}
    kube_api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    kube = Kube(kube_api.configuration(), patience=0.0)
    kube_api.http.logs = lambda pod, container: f"now {pod['metadata']['name']} {container}"
    assert kube.log("default", "k-0", "node") == "now k-0 node\n"
    kube_api.http.previous_logs = lambda pod, container: "killed\n"
    assert kube.log("default", "k-0", "node") == "killed\nnow k-0 node\n"
    kube_api.http.previous_logs = lambda pod, container: "x" * 50
    assert kube.log("default", "k-0", "node").startswith("x" * 20 + "\n(the log goes on: 20 bytes of it are read)\nnow")
    kube_api.fault(verb="get", resource="pods/log", status=500, times=None)
    assert kube.log("default", "k-0", "node").count("could not be read") == 2
