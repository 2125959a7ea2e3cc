"""Judging by a Job: recorded, healed, judged once and for all, and nothing lost where it comes to nothing."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from api_server.world import PENDING, Outcome
from experiments.agents import TOKEN, TRUST
from experiments.conftest import KIND, SYSTEM, experiment, handed_over, until
from experiments.recorded import Recorded

from highwater_chaos.backends.kubernetes import archive
from highwater_chaos.backends.kubernetes.archive import ArchiveError, fetch, store_recordings, store_verdict
from highwater_chaos.backends.kubernetes.claim import Claim
from highwater_chaos.cli import execute
from highwater_chaos.kube.client import Kube, KubeError
from highwater_chaos.kube.conditions import Condition, with_conditions
from highwater_chaos.kube.kinds import CONFIG_MAP, JOB
from highwater_chaos.kubernetes_jobs.judge import Judge
from highwater_chaos.run.manifest import BadSummaryError
from highwater_chaos.verdict.check import check_recordings
from highwater_operator.experiments.context import JudgingSettings


@pytest.fixture
def judging(stage: Any) -> Any:
    stage.judging = JudgingSettings(job=True)
    return stage


def hand_over(stage: Any, run: Recorded, name: str = "demo") -> None:
    """As a runner does with its last word."""
    found = stage.get(name)
    kept = store_recordings(Kube(stage.api.configuration()), found, run.directory)
    assert kept is not None
    conditions = with_conditions(found, Condition("Recorded", "True", "Kept", kept))
    status = {"phase": "Judging", "run": kept, "conditions": conditions}
    stage.api.patch(*KIND, name, "default", {"status": status}, "status")


def judge(stage: Any, name: str = "demo") -> int:
    """As a judging pod does, without the seconds that Spark takes."""
    uid = stage.get(name)["metadata"]["uid"]
    return Judge(Kube(stage.api.configuration(), patience=5.0), "default", name, uid, judge=check_recordings).run()


def judge_pods(stage: Any) -> list[str]:
    return list(stage.runner_pods("judge"))


def verdict_kept(stage: Any, folder: Path, name: str = "demo") -> Any:
    return json.loads((fetch(Kube(stage.api.configuration()), "default", name, folder) / "verdict.json").read_text())


# --- the operator's part ---


def test_a_runner_judges_unless_told_otherwise(stage: Any) -> None:
    stage.begin()
    (job,) = stage.jobs()
    assert "--hand-over" not in job["spec"]["template"]["spec"]["containers"][0]["args"]


def test_what_was_recorded_is_healed_and_then_judged_by_a_job(judging: Any, failing: Recorded, tmp_path: Path) -> None:
    judging.begin()
    (job,) = judging.jobs()
    assert job["spec"]["template"]["spec"]["containers"][0]["args"][-1] == "--hand-over"
    own = {"apiVersion": KIND[0], "kind": KIND[1], "name": "demo", "uid": judging.get()["metadata"]["uid"]}
    meta = {"name": "demo", "namespace": "default", "ownerReferences": [own]}
    judging.api.create({"apiVersion": KIND[0], "kind": "LogCluster", "metadata": meta, "spec": {}})
    fault = judging.inject(judging.agents[0], 1)
    hand_over(judging, failing)
    until(lambda: judge_pods(judging), "the judging pod")
    assert judging.agents[0].undone == [fault]
    assert judging.journal() == {fault: "undone"}
    assert judging.api.get(KIND[0], "LogCluster", "demo", "default") is None
    assert judging.runner_pods() == []
    (job,) = judging.jobs()
    uid = judging.get()["metadata"]["uid"]
    assert (job["metadata"]["name"], job["metadata"]["namespace"]) == (f"highwater-judge-{uid}", SYSTEM)
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "highwater/pipeline:0.2.0"
    assert container["command"][-1] == "highwater_chaos.kubernetes_jobs.judge"
    assert container["args"] == ["--experiment", "default/demo", "--uid", uid]
    assert pod["serviceAccountName"] == f"highwater-judge-{uid}"
    assert judging.accounts() == [f"highwater-judge-{uid}"], "the runner's rights ended with it"
    assert [one["name"] for one in pod["volumes"]] == ["tmp"], "no token of agents"
    assert (pod["securityContext"]["runAsNonRoot"], pod["securityContext"]["runAsUser"]) == (True, 10001)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"] == "3Gi"
    assert (container["workingDir"], container["volumeMounts"]) == ("/tmp", [{"name": "tmp", "mountPath": "/tmp"}])

    assert judge(judging) == 0
    status = judging.status()
    assert (status["phase"], status["verdict"]) == ("Completed", "fail")
    assert status["expected"] is True
    assert status["anomalies"] == {name: one["count"] for name, one in failing.verdict["anomalies"].items()}
    assert status["run"].startswith("configmaps demo-run-0 to ")
    assert "demo-verdict-0" in status["run"]
    assert (judging.condition("Completed")["status"], judging.condition("Passed")["status"]) == ("True", "False")
    assert verdict_kept(judging, tmp_path) == failing.verdict
    judging.end_runner(0, "judge")
    until(
        lambda: [one for one in judging.api.objects("v1", "Event", "default") if one["reason"] == "Completed"], "Event"
    )
    assert judging.status() == status, "a verdict is final"


def failed_twice(stage: Any) -> None:
    """The Job's pod fails, and so does its successor."""
    until(lambda: judge_pods(stage), "the judging pod")
    stage.end_runner(137, "judge")
    until(lambda: len(judge_pods(stage)) == 2 or stage.phase() == "Completed", "another attempt")
    if stage.phase() != "Completed":
        stage.end_runner(1, "judge")


def inconclusive(stage: Any, why: str) -> None:
    until(lambda: stage.phase() == "Completed", "the end")
    status = stage.status()
    assert status["verdict"] == "inconclusive"
    assert status["expected"] is False
    assert status["reason"].startswith("recorded, but not judged: ")
    assert why in status["reason"]
    assert "highwater report cx/demo --namespace default, then highwater check" in status["reason"]
    assert status["run"].startswith("configmaps demo-run-0")
    assert (stage.condition("Completed")["reason"], stage.condition("Passed")["status"]) == ("NotJudged", "Unknown")


def test_where_judging_fails_the_recordings_stay(judging: Any, passing: Recorded, tmp_path: Path) -> None:
    judging.begin()
    hand_over(judging, passing)
    failed_twice(judging)
    inconclusive(judging, "BackoffLimitExceeded")
    directory = fetch(Kube(judging.api.configuration()), "default", "demo", tmp_path)
    assert (directory / "history" / "operations.jsonl").is_file()
    assert not (directory / "verdict.json").exists()
    until(lambda: "NotJudged" in {one["reason"] for one in judging.api.objects("v1", "Event", "default")}, "the Event")
    assert judge(judging) == 1, "what comes too late changes nothing"
    assert judging.status()["verdict"] == "inconclusive"


def test_an_evicted_judge_has_a_successor(judging: Any, passing: Recorded) -> None:
    judging.begin()
    hand_over(judging, passing)
    (first,) = until(lambda: judge_pods(judging), "the judging pod")
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    judging.api.patch("v1", "Pod", first, SYSTEM, {"status": evicted}, "status")
    until(lambda: len(judge_pods(judging)) == 2, "another attempt")
    assert judge(judging) == 0
    assert judging.status()["verdict"] == "pass"


def test_evicted_for_good_it_says_so(judging: Any, passing: Recorded) -> None:
    judging.begin()
    hand_over(judging, passing)
    for number in (1, 2):
        names = until(lambda number=number: len(found := judge_pods(judging)) >= number and found, "the pods")
        evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
        for name in names:
            judging.api.patch("v1", "Pod", name, SYSTEM, {"status": evicted}, "status")
    inconclusive(judging, "Evicted: The node was low on resource: memory.")


def test_an_image_that_cannot_be_had(judging: Any, passing: Recorded) -> None:
    judging.pace = type(judging.pace)(0.3, 0.1, 0.2, judge_image_within=0.5)
    judging.begin()
    hand_over(judging, passing)
    (name,) = until(lambda: judge_pods(judging), "the judging pod")
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    image = {"name": "judge", "image": "highwater/pipeline:0.2.0", "imageID": "", "ready": False, "restartCount": 0}
    status = {"containerStatuses": [{**image, "state": {"waiting": waiting}}]}
    judging.api.patch("v1", "Pod", name, SYSTEM, {"status": status}, "status")
    inconclusive(judging, "ImagePullBackOff: image highwater/pipeline:0.2.0; Back-off pulling image")
    until(lambda: judging.jobs() == [], "the Job to go: nothing waits on for an image")


def test_a_job_that_is_gone_is_made_anew(judging: Any, passing: Recorded) -> None:
    judging.begin()
    hand_over(judging, passing)
    before = until(lambda: judge_pods(judging), "the judging pod")
    assert Kube(judging.api.configuration()).delete(JOB, SYSTEM, judging.jobs()[0]["metadata"]["name"])
    until(lambda: (now := judge_pods(judging)) and not set(now) & set(before), "another Job's pod")
    assert judge(judging) == 0
    assert judging.phase() == "Completed"


def test_deleted_while_it_is_judged(judging: Any, passing: Recorded) -> None:
    judging.begin()
    hand_over(judging, passing)
    until(lambda: judge_pods(judging), "the judging pod")
    judging.api.delete(*KIND, "demo", "default")
    until(lambda: judging.get() is None, "the experiment to go")
    assert judging.jobs() == []
    assert judge_pods(judging) == []


def test_healed_by_hand_while_it_is_judged(judging: Any, passing: Recorded, tmp_path: Path, monkeypatch: Any) -> None:
    judging.begin()
    hand_over(judging, passing)
    until(lambda: judge_pods(judging), "the judging pod")
    judging.stop()
    secret = {"name": "highwater-agent-token", "namespace": SYSTEM}
    judging.api.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": secret,
            "data": {"token": base64.b64encode(TOKEN.encode()).decode()},
        }
    )
    trust = {"name": "highwater-agent-tls", "namespace": SYSTEM}
    judging.api.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": trust, "data": {"ca.crt": TRUST.authority}}
    )
    monkeypatch.setenv("KUBECONFIG", str(judging.api.kubeconfig(tmp_path / "kubeconfig")))
    assert execute(("heal", "--namespace", "default", "--timeout", "2")) == 0
    assert judging.jobs() == []
    assert (judging.phase(), judging.status()["verdict"]) == ("Completed", "inconclusive")


@pytest.mark.quick("0-before", "1-after")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("skip", range(4))
def test_a_crash_around_any_write(judging: Any, passing: Recorded, tmp_path: Path, when: str, skip: int) -> None:
    """The operator is cut off around its n-th write, and another one takes over."""
    judging.begin()
    fault = judging.inject(judging.agents[0], 1)
    judging.stop()
    hand_over(judging, passing)
    judging.end_runner(0)
    judging.cut_off_around_a_write(when, skip, lambda: judge_pods(judging))
    until(lambda: judge_pods(judging), "the judging pod")
    assert judging.agents[0].undone == [fault]
    assert len(judging.jobs()) == 1
    judging.stop()
    if skip % 2:
        judging.world.pods.decide = lambda pod: PENDING if pod["spec"].get("restartPolicy") == "Never" else Outcome()
        failed_twice(judging)
    else:
        assert judge(judging) == 0
        judging.end_runner(0, "judge")
    judging.cut_off_around_a_write(when, skip // 2, lambda: judging.phase() == "Completed")
    until(lambda: judging.phase() == "Completed", "the end")
    if skip % 2:
        inconclusive(judging, "the judging Job failed")
    else:
        assert judging.status()["verdict"] == "pass"
        assert verdict_kept(judging, tmp_path) == passing.verdict
    assert judging.agents[0].undone == [fault]
    assert judging.journal() == {fault: "undone"}


def test_bad_days_of_the_api_server_only_delay(judging: Any, passing: Recorded) -> None:
    judging.begin()
    hand_over(judging, passing)
    for status in (409, 500):
        judging.api.fault(verb="patch", status=status, times=1)
    until(lambda: judge_pods(judging), "the judging pod")
    for status in (409, 500):
        judging.api.fault(verb="patch", status=status, times=1)
    assert judge(judging) == 0
    assert judging.status()["verdict"] == "pass"


# --- the judge's part ---


@pytest.mark.parametrize("phase", ["Completed", "Aborting"])
def test_what_is_over_is_not_judged(kube_api: Any, passing: Recorded, phase: str) -> None:
    uid = handed_over(kube_api, passing)["metadata"]["uid"]
    kube_api.patch(*KIND, "demo", "default", {"status": {"phase": phase}}, "status")
    api = Kube(kube_api.configuration())
    assert Judge(api, "default", "demo", uid, judge=check_recordings).run() == 1
    assert api.get(CONFIG_MAP, "default", "demo-verdict-0") is None
    kube_api.patch(*KIND, "demo", "default", {"status": {"phase": "Judging"}}, "status")
    assert Judge(api, "default", "demo", "another", judge=check_recordings).run() == 1
    assert Judge(api, "default", "demo", uid, judge=check_recordings).run() == 0


def test_a_runner_that_still_judges_is_left_alone(kube_api: Any, passing: Recorded) -> None:
    uid = handed_over(kube_api, passing)["metadata"]["uid"]
    kube_api.patch(*KIND, "demo", "default", {"status": {"conditions": []}}, "status")
    assert Judge(Kube(kube_api.configuration()), "default", "demo", uid, judge=check_recordings).run() == 1


@pytest.mark.thorough
def test_a_judge_that_is_ended_in_the_middle_is_begun_again(
    kube_api: Any, failing: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each write; the recordings are whole all the while, and nothing is judged twice that is kept whole."""
    monkeypatch.setattr(archive, "CHUNK", 4000)
    uid = handed_over(kube_api, failing)["metadata"]["uid"]
    judged: list[Path] = []

    def once(found: Any, directory: Path) -> Any:
        judged.append(directory)
        return check_recordings(found, directory)

    parts = 0
    while True:
        kube_api.faults.clear()
        met = kube_api.fault(
            matches=lambda asked: asked.verb in ("create", "update", "patch"), skip=parts, times=None, reset=True
        )
        api = Kube(kube_api.configuration(), patience=0.0)
        try:
            done = Judge(api, "default", "demo", uid, judge=once).run()
        except KubeError:
            assert met.hits
        else:
            assert (done, met.hits) == (0, [])
            break
        kube_api.faults.clear()
        directory = fetch(Kube(kube_api.configuration()), "default", "demo", tmp_path)
        assert (directory / "history" / "operations.jsonl").is_file()
        parts += 3
    assert parts >= 6
    assert 1 <= len(judged) < parts
    status = kube_api.get(*KIND, "demo", "default")["status"]
    assert (status["phase"], status["verdict"]) == ("Completed", "fail")


def test_a_verdict_is_about_its_own_recordings(
    kube_api: Any, passing: Recorded, failing: Recorded, tmp_path: Path
) -> None:
    """One that an experiment of the same name left behind is not taken for this one's."""
    found = handed_over(kube_api, failing)
    api = Kube(kube_api.configuration())
    judged = fetch(api, "default", "demo", tmp_path / "first")
    (judged / "verdict.json").write_text("{}")
    store_verdict(api, found, judged)
    assert (fetch(api, "default", "demo", tmp_path / "second") / "verdict.json").exists()
    assert store_recordings(api, found, passing.directory)
    assert not (fetch(api, "default", "demo", tmp_path / "third") / "verdict.json").exists()


def test_recordings_that_were_changed_are_not_judged(kube_api: Any, passing: Recorded, tmp_path: Path) -> None:
    """By its manifest, which is kept with the run."""
    uid = handed_over(kube_api, passing)["metadata"]["uid"]
    edited = Path(shutil.copytree(passing.directory, tmp_path / passing.directory.name))
    (edited / "run.json").write_bytes((edited / "run.json").read_bytes() + b" ")
    api = Kube(kube_api.configuration())
    assert store_recordings(api, kube_api.get(*KIND, "demo", "default"), edited)
    with pytest.raises(BadSummaryError, match=r"run\.json: expected what the run wrote"):
        Judge(api, "default", "demo", uid, judge=check_recordings).run()


def test_recordings_that_are_not_there_are_named(kube_api: Any, passing: Recorded) -> None:
    uid = handed_over(kube_api, passing)["metadata"]["uid"]
    kube_api.delete("v1", "ConfigMap", "demo-run-0", "default")
    with pytest.raises(ArchiveError, match="expected ConfigMap demo-run-0; found none"):
        Judge(Kube(kube_api.configuration()), "default", "demo", uid, judge=check_recordings).run()


def test_more_than_a_cluster_keeps_is_not_handed_over(
    kube_api: Any, passing: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube_api.create(experiment())
    monkeypatch.setattr(archive, "LARGEST", 1000)
    api = Kube(kube_api.configuration())
    assert store_recordings(api, kube_api.get(*KIND, "demo", "default"), passing.directory) is None
    assert kube_api.objects("v1", "ConfigMap", "default") == []


@pytest.mark.parametrize("name", ["e" * 200, "e" * 62 + "-of-a-campaign", "e" * 62 + ".second"])
def test_a_run_is_kept_whatever_the_name_of_its_experiment(
    kube_api: Any, passing: Recorded, tmp_path: Path, name: str
) -> None:
    """A label's value is cut from it; it must not end in a dash or a dot."""
    made = kube_api.create(experiment(name))
    api = Kube(kube_api.configuration())
    archive.store(api, made, passing.directory)
    store_verdict(api, made, passing.directory)
    assert fetch(api, "default", name, tmp_path).is_dir()


def test_recordings_in_a_claim(
    kube_api: Any, passing: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged only as they were stored; read only where the claim is; a claim that takes nothing costs no verdict."""
    made = kube_api.create(experiment())
    api = Kube(kube_api.configuration())
    monkeypatch.setattr(archive, "LARGEST", 1000)
    claim = Claim(tmp_path / "claim", "claim highwater-system/big, folder default/u")

    assert store_recordings(api, made, passing.directory, claim) is None, "the folder is not there"
    words = archive.store(api, made, passing.directory, claim)
    assert "without recordings, which are 0 MiB" in words
    assert "not kept either in claim highwater-system/big, folder default/u: [Errno 2]" in words
    assert len(words) <= 500

    claim.directory.mkdir()
    kept = store_recordings(api, made, passing.directory, claim)
    assert kept is not None
    assert "recordings (0 MiB): claim highwater-system/big, folder default/u, file recorded.zip" in kept
    fetched = fetch(api, "default", "demo", tmp_path / "there", claim)
    assert {one.relative_to(fetched) for one in fetched.rglob("*")} == {
        one.relative_to(passing.directory) for one in passing.directory.rglob("*")
    }
    with pytest.raises(ArchiveError, match=r"is not judged, and its recordings are in claim .*, file recorded\.zip"):
        fetch(api, "default", "demo", tmp_path / "elsewhere")
    assert not list((tmp_path / "elsewhere").glob("*"))

    shutil.copytree(passing.directory, tmp_path / "judged")
    for name in ("verdict.json", "junit.xml", "report.html"):
        (tmp_path / "judged" / name).write_text("{}")
    assert store_verdict(api, made, tmp_path / "judged").endswith("folder default/u, file recorded.zip")
    assert (fetch(api, "default", "demo", tmp_path / "elsewhere") / "verdict.json").read_text() == "{}"

    with (claim.directory / "recorded.zip").open("r+b") as file:
        file.write(b"x")
    with pytest.raises(ArchiveError, match="the recordings are not what was stored"):
        fetch(api, "default", "demo", tmp_path / "changed", claim)


# --- settings ---


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"HIGHWATER_JUDGING_JOB": "yes"}, "HIGHWATER_JUDGING_JOB: expected on or off, found 'yes'"),
        ({"HIGHWATER_JUDGE_RESOURCES": "{"}, "HIGHWATER_JUDGE_RESOURCES: expected JSON, found '{'"),
        ({"HIGHWATER_JUDGE_RESOURCES": "3"}, "HIGHWATER_JUDGE_RESOURCES: expected a JSON object, found '3'"),
    ],
)
def test_wrong_settings_are_refused(environment: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match="HIGHWATER_JUDG") as refused:
        JudgingSettings.from_environment(environment)
    assert words in str(refused.value)


def test_without_settings_there_is_no_job() -> None:
    assert JudgingSettings.from_environment({}) == JudgingSettings(job=False)
