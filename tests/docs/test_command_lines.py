"""Every command line that a document shows exists, with these options; the quick ones are run."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer

from highwater_chaos.cli import command_line, execute
from highwater_lab.command import command_line as laboratory_command_line

GROUP: Any = typer.main.get_command(command_line())
COMMANDS: dict[str, Any] = GROUP.commands
PROGRAM = re.compile(r"^(?:\$ )?(?:\t)?(?:\.venv/bin/|\$\(BIN\)/)?highwater (.+)$")
LABORATORY = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?python -m (highwater_lab.*)$", flags=re.M)


def shown_in(text: str) -> list[str]:
    """Arguments of each command line in some lines, without comments."""
    matches = (PROGRAM.match(line) for line in text.splitlines())
    lines = [match[1].split("  #")[0].strip() for match in matches if match]
    return [line for line in lines if line != "--version"]


def shown(document: Any) -> list[str]:
    """Command lines of a document; none of the change log, which says what was new when it was."""
    if document.path.name == "CHANGELOG.md":
        return []
    lines = shown_in("\n".join(document.blocks("", "console", "sh", "bash")))
    inline = [text for text in re.findall(r"`([^`\n]+)`", document.prose) if text.startswith("highwater ")]
    return lines + shown_in("\n".join(inline))


def options_of(command: str) -> set[str]:
    """Options of a command; of all of its own commands where it has some."""
    commands = getattr(COMMANDS[command], "commands", {"": COMMANDS[command]}).values()
    return {option for one in commands for parameter in one.params for option in parameter.opts if option[:2] == "--"}


def is_concrete(line: str) -> bool:
    """Nothing in it is a placeholder."""
    return len(line.split()) > 1 and not re.search(r"\[|\b[A-Z]{2,}\b|…", line)


def parse(line: str) -> None:
    command, *arguments = shlex.split(line)
    COMMANDS[command].make_context(command, arguments)


def test_commands_and_options_exist(document: Any) -> None:
    for line in shown(document):
        command = line.split()[0]
        assert command in COMMANDS, line
        assert set(re.findall(r"--[a-z-]+", line)) <= options_of(command), line


def test_concrete_lines_are_understood(document: Any) -> None:
    for line in filter(is_concrete, shown(document)):
        parse(line)


def test_lines_of_the_laboratory_are_understood(document: Any) -> None:
    laboratory: Any = typer.main.get_command(laboratory_command_line())
    blocks, inline = "\n".join(document.blocks("", "console", "sh", "bash")), re.findall(r"`([^`\n]+)`", document.prose)
    for line in LABORATORY.findall("\n".join([blocks, *inline])):
        program, *arguments = shlex.split(line, comments=True)
        if program == "highwater_lab" and is_concrete(line):
            laboratory.commands[arguments[0]].make_context(arguments[0], arguments[1:])
        assert program.endswith(".NAME") or find_spec(program) is not None, line


def test_the_synopsis_has_every_command_and_every_option(document_of: Any) -> None:
    shown: dict[str, str] = {}
    for line in shown_in("\n".join(document_of("command-line").blocks(""))):
        command = line.split()[0]
        shown[command] = f"{shown.get(command, '')} {line}"
    assert sorted(shown) == sorted(COMMANDS)
    for command, lines in shown.items():
        assert set(re.findall(r"--[a-z-]+", lines)) == options_of(command), command


def test_the_makefile_runs_what_exists(root: Path) -> None:
    recipes = shown_in((root / "Makefile").read_text(encoding="utf-8").replace("\t", ""))
    assert recipes
    for line in recipes:
        parse(line)
        assert all((root / name).is_file() for name in shlex.split(line) if name.endswith(".yaml"))


def test_the_readme_shows_make_targets_that_exist(root: Path) -> None:
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    readme = (root / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake (\w+)", readme))
    assert {"demo", "test", "setup"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.M), target


def test_what_the_readme_and_the_tutorial_show_works(
    root: Path, document_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown_in((root / "README.md").read_text(encoding="utf-8"))
    assert {line.split()[0] for line in lines} == {"scenarios", "run", "doctor"}
    (tmp_path / "scenarios").symlink_to(root / "scenarios")
    monkeypatch.chdir(tmp_path)
    for line in lines:
        assert execute(shlex.split(line)) == 0, line
    printed = " ".join(capsys.readouterr().out.split())
    (shown,) = document_of("tutorial").blocks("text")
    expected = re.escape(" ".join(shown.split())).replace(re.escape("in 9.0 s"), r"in [\d.]+ s")
    assert re.search(expected, printed), printed


def test_exit_statuses_are_those_of_the_program(document_of: Any) -> None:
    from highwater_chaos.cli.exits import Exit

    shown = document_of("command-line").table("Exit status")
    assert [int(status) for status in shown] == [int(status) for status in Exit]
