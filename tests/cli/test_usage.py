"""Bad files and bad usage: exit 254, a message that says where and what is allowed, and nothing on disk."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer

from highwater_chaos.cli import command_line
from highwater_chaos.run.manifest import make_manifest

COMMANDS: dict[str, Any] = typer.main.get_command(command_line()).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("found", "instead", "path", "message"),
    [
        ("kill: {target", "hang: {target", "spec.schedule[0].inject.hang", "unknown field; did you mean 'pause'?"),
        ("rate: 20/s", "rat: 20/s", "spec.workload.rat", "unknown field; did you mean 'rate'?"),
        ("brokers: 2", "brokers: two", "spec.cluster.brokers", "expected a whole number; found 'two'"),
        ("timeout: 1m", "recovery: 1m", "spec.timeout", "is required"),
        (
            "{followerOf: orders-0}",
            "{broker: 5}",
            "spec.schedule[0].inject.kill.target.broker",
            "there is no broker 5: the cluster has brokers 0 to 1",
        ),
        (
            "{followerOf: orders-0}",
            "{followerOf: order-0}",
            "spec.schedule[0].inject.kill.target.followerOf",
            "there is no topic 'order'",
        ),
        (
            "{followerOf: orders-0}",
            "{one: brokers, not: hang}",
            "spec.schedule[0].inject.kill.target.not",
            "no fault is named 'hang'",
        ),
        (
            "{followerOf: orders-0}",
            "{leaderOf: orders-0, not: {broker: 1}}",
            "spec.schedule[0].inject.kill.target",
            "not leaves out some of several nodes, so it goes with all,",
        ),
        (
            "wait: 1s",
            "repeat: {times: 2, steps: [{injekt: {}}]}",
            "spec.schedule[1].repeat.steps[0].injekt",
            "did you mean 'inject'?",
        ),
        ("wait: 1s", "parallel: [[{wiat: 1s}]]", "spec.schedule[1].parallel[0][0].wiat", "did you mean 'wait'?"),
        ("{verdict: pass}", "{verdict: passed}", "spec.expect[0].verdict", "expected 'pass', 'fail' or 'inconclusive'"),
        ("brokers: 2", "mode: raft", "spec.cluster.mode", "expected 'kraft' or 'zookeeper'"),
    ],
)
def test_a_broken_file(highwater: Any, tiny: str, found: str, instead: str, path: str, message: str) -> None:
    assert found in tiny
    file = highwater.write("broken.yaml", tiny.replace(found, instead, 1))
    done = highwater("run", file, "--out", "runs", "--junit", "out/junit.xml", "--json")
    assert done.status == 254
    assert f"{path}: " in done.err
    assert message in done.err
    assert f"{file}:" in done.err, "which file, and which line"
    assert done.out == ""
    assert highwater.files() == ["broken.yaml"], "nothing is created"


def test_one_broken_file_stops_the_good_ones_before_it(highwater: Any, tiny_file: Path, tiny: str) -> None:
    broken = highwater.write("broken.yaml", tiny.replace("brokers: 2", "brokers: 0"))
    done = highwater("run", tiny_file, broken)
    assert done.status == 254
    assert "spec.cluster.brokers" in done.err
    assert highwater.files() == ["broken.yaml", "tiny.yaml"]


def test_every_broken_file_is_told_at_once(highwater: Any, tiny: str) -> None:
    first = highwater.write("first.yaml", tiny.replace("brokers: 2", "brokers: 0"))
    second = highwater.write("second.yaml", tiny.replace("rate: 20/s", "rate: fast"))
    done = highwater("run", first, second, "missing.yaml")
    assert done.status == 254
    assert "spec.cluster.brokers" in done.err
    assert "spec.workload.rate" in done.err
    assert "missing.yaml: expected an experiment file, found: No such file or directory" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--backend", "moon"], "'moon' is not one of 'sim', 'local', 'kubernetes'"),
        (["--allow-external"], "--allow-external: commands of a file run with --backend attach or local only"),
        (["--backend", "local", "--wire"], "--wire is for the simulator: real messages always go through the codec"),
        (["--switch", "replica-epoch"], "--switch 'replica-epoch': expected NAME=VALUE or NAME=VALUE,VALUE"),
        (
            ["--switch", "replica-epochs=off"],
            "unknown switch 'replica-epochs'; did you mean 'replica-epoch-check'? known are ",
        ),
        (["--switch", "replica-epoch-check=off,of"], "switch 'replica-epoch-check': expected on or off, found 'of'"),
        (
            ["--switch", "replica-epoch-check=on", "--switch", "replica-epoch-check=off"],
            "is given twice; give its values at once: replica-epoch-check=off,on",
        ),
        (["--seed", "-1"], "'--seed': expected at least 0, found '-1'; see 'highwater run --help'"),
        (["--seed", str(2**63)], "'--seed'"),
        (["--seed=many"], "'--seed': expected a whole number, found 'many'; see 'highwater run --help'"),
        (["--frobnicate"], "No such option: --frobnicate"),
        (["--out", "tiny.yaml"], "tiny.yaml is a file; choose another place"),
        (["--out", "tiny.yaml/below"], "tiny.yaml is a file; choose another place"),
        (["--junit", "tiny.yaml/junit.xml"], "tiny.yaml is a file; choose another place"),
        (["--junit", "."], "is a directory; expected a file to write"),
    ],
    ids=" ".join,
)
def test_bad_options_of_run(highwater: Any, tiny_file: Path, options: list[str], message: str) -> None:
    done = highwater("run", tiny_file, *options)
    assert done.status == 254
    assert message in done.err
    assert done.out == ""
    assert highwater.files() == ["tiny.yaml"]


@pytest.mark.parametrize("command", ["run", "campaign"])
def test_a_link_that_leads_nowhere_takes_no_directory(highwater: Any, tiny_file: Path, command: str) -> None:
    Path("out").symlink_to("gone")
    done = highwater(command, tiny_file, "--out", "out")
    assert (done.status, highwater.files()) == (254, ["out", "tiny.yaml"])
    assert "out is a link to gone, which is not there; make that, or choose another place" in done.err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            ["run", "--backend", "local"],
            "runs commands of the file: touch 'in here'; heal: false; probe: false. Look at",
        ),
        (["campaign", "--backend", "local"], "if they may run here, add --allow-external to 'highwater run'"),
        (["run"], "they run on the user's own machine, by 'highwater run' with"),
        (["validate", "--backend", "sim"], "they run on the user's own machine, by 'highwater run' with"),
    ],
)
def test_commands_of_a_file_run_only_if_they_are_allowed(
    highwater: Any, tiny: str, command: list[str], says: str
) -> None:
    fault = "{inject: [touch, in here], heal: ['false'], probe: ['false']}"
    step = f"{{repeat: {{times: 1, steps: [{{inject: {{external: {fault}}}}}]}}}}"
    file = highwater.write("file.yaml", f"{tiny.partition('  schedule:')[0]}  schedule: [{step}]\n")
    done = highwater(command[0], file, *command[1:])
    assert (done.status, says in done.err) == (254, True), done.err
    assert highwater.files() == ["file.yaml"]
    assert highwater("validate", file, "--backend", "local").status == 0


def test_a_path_that_no_report_can_name(highwater: Any, tiny_file: Path) -> None:
    done = highwater("run", tiny_file, "--out", os.fsdecode(b"runs-\xff"))
    assert (done.status, done.out) == (254, "")
    assert "--out: expected a path in UTF-8" in done.err
    assert highwater.files() == ["tiny.yaml"]


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_a_file_that_takes_nothing_is_named_when_the_runs_are_over(
    highwater: Any, tiny_file: Path, option: str
) -> None:
    (highwater.folder / "full").symlink_to("/dev/full")
    done = highwater("run", tiny_file, option, "full", "--json")
    problem = f"{option} full: cannot be written: No space left on device"
    assert (done.status, done.err.splitlines()[-1]) == (254, problem)
    assert [run["verdict"] for run in done.json["runs"]] == ["pass"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(highwater: Any, tiny_file: Path) -> None:
    closed = highwater.folder / "closed"
    closed.mkdir(mode=0o500)
    done = highwater("run", tiny_file, "--out", closed / "runs")
    assert (done.status, "no permission to write to" in done.err) == (254, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["run"], "Missing argument 'EXPERIMENT'"),
        (["heal", "--timeout", "3"], "--context, --system-namespace and --timeout need --namespace"),
        (["check", "missing"], "missing: no such file or directory"),
        (["check", ".", "--model", "queue"], "'queue' is not one of 'log', 'register'"),
        (["check", ".", "--acks", "2"], "'2' is not one of 'all', '1', '0'"),
        (
            ["run", "kafka-14193"],
            "'kafka-14193' is neither a file nor a shipped experiment; did you mean 'kafka-14139'?",
        ),
        (["run", "kip-903/kafka-14139"], "is neither a file nor a shipped experiment; did you mean 'kafka-14139'?"),
        (
            ["validate", "x"],
            "'x' is neither a file nor a shipped experiment; 'highwater scenarios' lists the shipped ones",
        ),
        (["replay", "missing"], "missing: expected a run directory, found nothing"),
        (["report", "."], ".: expected a run directory, found no verdict.json in it"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_of_other_commands(highwater: Any, arguments: list[str], message: str) -> None:
    done = highwater(*arguments)
    assert done.status == 254
    assert message in done.err
    assert done.out == ""
    assert highwater.files() == []


def test_no_arguments_is_the_help_page_and_bad_usage(highwater: Any) -> None:
    done = highwater()
    assert done.status == 254
    assert done.err.lstrip().startswith("Usage: highwater")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_no_error(highwater: Any, command: str) -> None:
    done = highwater(*command.split(), "--help")
    assert done.status == 0
    assert done.out.startswith("Usage: highwater")
    assert not re.search(r"<(str|int|float|path|list|file|bool)", done.out), "types of Python are not the user's"


STARTED = '{"seq":1,"time_ns":1,"node_time_ns":1,"node":"broker-0","incarnation":1,"kind":"node-started"}'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("verdict.json", "{", "verdict.json: expected a JSON object, found: "),
        ("verdict.json", "[]", "verdict.json: expected a JSON object, found list"),
        ("verdict.json", '{"backend": "sim"}', "verdict.json: has no wire, traceDigest"),
        (
            "events/nodes.jsonl",
            f'{STARTED}\n{{"seq',
            'events/nodes.jsonl:2: expected a line feed at the end, found a torn line: {"seq',
        ),
        (
            "events/nodes.jsonl",
            f"{STARTED}\n[1]\n{STARTED}",
            "events/nodes.jsonl:2: Expected `object`, got `array`; the line: [1]",
        ),
        ("faults.jsonl", None, "faults.jsonl: expected the file that manifest.json lists; found none"),
        ("experiment.yaml", "kind: Other", "experiment.yaml"),
    ],
)
def test_a_torn_run_directory_is_a_bad_file(
    highwater: Any, tiny_run: Path, name: str, content: str | None, message: str
) -> None:
    copy = highwater.folder / "copy"
    shutil.copytree(tiny_run, copy)
    before = (copy / "report.html").read_bytes()
    if content is None:
        (copy / name).unlink()
    else:
        (copy / name).write_text(content, encoding="utf-8")
        make_manifest(copy)
    done = highwater("report", copy)
    assert done.status == 254
    assert message in done.err
    assert (copy / "report.html").read_bytes() == before


def test_a_replay_without_its_recording_does_not_start(highwater: Any, tiny_run: Path) -> None:
    copy = highwater.folder / "copy"
    shutil.copytree(tiny_run, copy)
    (copy / "events" / "nodes.jsonl").unlink()
    done = highwater("replay", copy)
    assert done.status == 254
    assert "events/nodes.jsonl: expected the file that manifest.json lists; found none" in done.err
    assert highwater.files() == ["copy"]


def test_a_run_of_another_backend_is_not_replayed(highwater: Any, tiny_run: Path) -> None:
    copy = highwater.folder / "copy"
    shutil.copytree(tiny_run, copy)
    verdict = (copy / "verdict.json").read_text(encoding="utf-8")
    (copy / "verdict.json").write_text(verdict.replace('"backend": "sim"', '"backend": "kubernetes"'), encoding="utf-8")
    make_manifest(copy)
    done = highwater("replay", copy)
    assert (done.status, "only runs of sim, local can be replayed" in done.err) == (254, True)


def test_the_longest_name_has_a_run_directory(highwater: Any, tiny: str) -> None:
    """A name of an object has 253 characters, one of a file 255, and a directory's has the time in it."""
    name = "a" * 253
    file = highwater.write("long.yaml", tiny.replace("name: tiny", f"name: {name}"))
    done = highwater("run", file, "--switch", "replica-epoch-check=on", "--json")
    assert done.status == 0, done.err
    assert [run["name"] for run in done.json["runs"]] == [name]
