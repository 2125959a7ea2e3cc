"""``manifests/spark``: what Kubernetes takes, and a program for executors' pods that Spark's own classes accept."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from highwater_chaos.cli import execute
from highwater_pipeline.java import find_java
from highwater_pipeline.spark import class_archive, driver
from highwater_pipeline.spark.executor import NotAPodError, command_of

ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "manifests" / "spark" / "judge.yaml"
APPLICATION = ROOT / "manifests" / "spark" / "application.yaml"
SHORT_LIFE = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
POD = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:1",
    "SPARK_EXECUTOR_ID": "1",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_EXECUTOR_MEMORY": "64m",
    "SPARK_APPLICATION_ID": "spark-of-a-test",
    "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "executor-1",
    "SPARK_JAVA_OPT_0": "-Dspark.rpc.askTimeout=5s",
    "SPARK_JAVA_OPT_1": "-Dspark.driver.port=1",
    **{f"SPARK_JAVA_OPT_{number}": option for number, option in enumerate(SHORT_LIFE, 2)},
}
"""What Spark 4.0's ``BasicExecutorFeatureStep`` puts into the environment of an executor's container."""


@pytest.fixture
def objects() -> list[Any]:
    return list(yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8")))


def test_kubernetes_takes_it(objects: list[Any]) -> None:
    for one in objects:
        kubernetes_validate.validate(one, "1.34.0", strict=True)
    (configuration,) = (one["data"] for one in objects if one["kind"] == "ConfigMap")
    template = yaml.safe_load(configuration["executor.yaml"])
    (executor,) = template["spec"]["containers"]
    # Spark sets the image.
    executor_with_image = {**executor, "image": "x"}
    pod = {**template, "metadata": {"name": "x"}, "spec": {**template["spec"], "containers": [executor_with_image]}}
    kubernetes_validate.validate(pod, "1.34.0", strict=True)
    defaults = dict(line.split(maxsplit=1) for line in configuration["spark-defaults.conf"].splitlines())
    assert defaults["spark.kubernetes.executor.podTemplateContainerName"] == executor["name"]
    (job,) = (one["spec"]["template"]["spec"] for one in objects if one["kind"] == "Job")
    variables = {one["name"] for one in job["containers"][0]["env"]}
    assert {name for value in defaults.values() for name in re.findall(r"\$\{env:(\w+)\}", value)} <= variables
    folder = job["containers"][0]["volumeMounts"][0]["mountPath"]
    assert defaults["spark.kubernetes.executor.podTemplateFile"] == f"{folder}/executor.yaml"


@pytest.mark.thorough
@pytest.mark.spark
def test_the_program_of_an_executor_gets_as_far_as_its_driver(objects: list[Any]) -> None:
    (configuration,) = (one["data"] for one in objects if one["kind"] == "ConfigMap")
    (container,) = yaml.safe_load(configuration["executor.yaml"])["spec"]["containers"]
    command = [sys.executable if word == "python3" else word for word in container["command"]]
    done = subprocess.run(
        [*command, "executor"], env={**os.environ, **POD}, check=False, capture_output=True, text=True, timeout=300
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert re.search(r"Failed to connect to /127\.0\.0\.1:1|Connection refused: /127\.0\.0\.1:1", said), said
    assert "Unrecognized option" not in said


def test_pods_of_the_application_are_those_of_the_job(objects: list[Any]) -> None:
    """The Spark operator hands pod templates on to Spark."""
    application = yaml.safe_load(APPLICATION.read_text(encoding="utf-8"))["spec"]
    (job,) = (one["spec"]["template"]["spec"] for one in objects if one["kind"] == "Job")
    (configuration,) = (one["data"] for one in objects if one["kind"] == "ConfigMap")
    (driver,) = application["driver"]["template"]["spec"]["containers"]
    (executor,) = application["executor"]["template"]["spec"]["containers"]
    (of_job,) = yaml.safe_load(configuration["executor.yaml"])["spec"]["containers"]
    assert {**executor, "name": ""} == {**of_job, "name": ""}
    assert (driver["envFrom"], driver["securityContext"]) == (executor["envFrom"], executor["securityContext"])
    for role in ("driver", "executor"):
        template = application[role]["template"]
        containers = [{**one, "image": application["image"]} for one in template["spec"]["containers"]]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
        kubernetes_validate.validate(
            {**pod, "spec": {**template["spec"], "containers": containers}}, "1.34.0", strict=True
        )
    assert application["arguments"] == job["containers"][0]["args"][1:]
    assert application["driver"]["serviceAccount"] == job["serviceAccountName"]
    assert application["sparkVersion"] == version("pyspark")
    assert application["mainApplicationFile"].removeprefix("local://") in (
        ROOT / "images" / "pipeline.Containerfile"
    ).read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.spark
def test_the_program_of_a_driver_judges(tmp_path: Path) -> None:
    """The arguments and the environment are those of a driver's pod; only the master is this machine."""
    assert execute(["run", str(ROOT / "tests" / "tiny-experiment.yaml"), "--out", str(tmp_path / "runs")]) == 0
    (run,) = (tmp_path / "runs").iterdir()
    application, properties = tmp_path / "highwater.py", tmp_path / "spark.properties"
    application.write_text("from highwater_chaos.cli import main\n\nmain()\n", encoding="utf-8")
    options = " ".join([*SHORT_LIFE, *class_archive.jvm_options(find_java())])
    properties.write_text(
        f"spark.master local[1]\nspark.driver.host 127.0.0.1\nspark.driver.extraJavaOptions {options}\n",
        encoding="utf-8",
    )
    addresses = {"SPARK_DRIVER_BIND_ADDRESS": "127.0.0.1", "SPARK_LOCAL_IP": "127.0.0.1"}
    submitted = ("--properties-file", str(properties), "--class", "org.apache.spark.deploy.PythonRunner")
    check = ("check", str(run), "--master", "local[1]", "--json")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "highwater_pipeline.spark.driver",
            "driver",
            *submitted,
            f"local://{application}",
            *check,
        ],
        env={**os.environ, **addresses, "SPARK_LAUNCHER_OPTS": " ".join(SHORT_LIFE)},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    # Spark's PythonRunner puts both streams of the application into its own stdout.
    assert json.loads(done.stdout[done.stdout.index("{") :])["valid"] is True


@pytest.mark.parametrize(
    ("arguments", "environment", "why"),
    [
        (["executor"], {"SPARK_DRIVER_BIND_ADDRESS": "x"}, r"the argument `driver`, .*found: \['executor'\]$"),
        (["driver"], {}, "missing: SPARK_DRIVER_BIND_ADDRESS$"),
    ],
)
def test_elsewhere_a_driver_says_what_is_missing(arguments: list[str], environment: dict[str, str], why: str) -> None:
    with pytest.raises(NotAPodError, match=why):
        driver.command_of(environment, arguments)


def test_elsewhere_it_says_what_is_missing() -> None:
    with pytest.raises(NotAPodError, match=r"missing: SPARK_DRIVER_URL$"):
        command_of({name: value for name, value in POD.items() if name != "SPARK_DRIVER_URL"}, Path("/java"))
    many = {**POD, **{f"SPARK_JAVA_OPT_{number}": f"-Dnumber={number}" for number in range(12)}}
    options = [word for word in command_of(many, Path("/java")) if word.startswith("-Dnumber")]
    assert options == [f"-Dnumber={number}" for number in range(12)], "in the order that Spark gave them"
