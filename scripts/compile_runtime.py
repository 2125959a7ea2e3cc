"""Compile the hot part of the runtime with mypyc and a C compiler.

    python scripts/compile_runtime.py DIRECTORY [--jobs N] [--optimize LEVEL] [--only MODULE ...]

All of it lands in DIRECTORY, nothing beside the sources. A process with ``HIGHWATER_COMPILED=DIRECTORY`` imports it
from there (``highwater_runtime/compiled.py``). A build that fits the sources is kept. A new one
appears in DIRECTORY when ``scripts/check_compiled.py`` has found nothing wrong with it.

This file has the list of what is compiled: :data:`COMPILED`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from mypyc.build import mypycify

# Who builds again has a build that does not fit, and may have it in the environment still.
os.environ.pop("HIGHWATER_COMPILED", None)

from highwater_runtime import compiled

ROOT: Final = Path(__file__).resolve().parent.parent

COMPILED: Final = (
    "broker/after_event.py",
    "broker/apis/fetch.py",
    "broker/apis/metadata.py",
    "broker/apis/produce.py",
    "broker/broker.py",
    "broker/fetch_session.py",
    "broker/fetch_sessions.py",
    "broker/fetcher.py",
    "broker/follower_state.py",
    "broker/isr.py",
    "broker/kraft/broker.py",
    "broker/leadership.py",
    "broker/partition.py",
    "broker/partition_context.py",
    "broker/purgatory.py",
    "broker/replica_gauges.py",
    "broker/replica_manager.py",
    "host/net/requests.py",
    "log/admission.py",
    "log/appendable_log.py",
    "log/epoch_cache.py",
    "log/index.py",
    "log/log.py",
    "log/producer_state.py",
    "log/readable_log.py",
    "log/records.py",
    "log/results.py",
    "log/segment.py",
    "log/segments.py",
    "log/varint.py",
    "metadata/image.py",
    "nodes/zookeeper_broker.py",
    "ports/network.py",
    "raft/answering.py",
    "raft/commit_feed.py",
    "raft/fetching.py",
    "raft/leading.py",
    "raft/messages.py",
    "raft/metadata_log.py",
    "raft/metrics.py",
    "raft/progress.py",
    "raft/purgatory.py",
    "raft/quorum.py",
    "raft/replica.py",
    "raft/scope.py",
    "sim/arrivals.py",
    "sim/clock.py",
    "sim/connection.py",
    "sim/disk.py",
    "sim/invariants/live.py",
    "sim/invariants/monitor.py",
    "sim/invariants/partitions.py",
    "sim/invariants/quorum.py",
    "sim/invariants/replicas.py",
    "sim/loop.py",
    "sim/network.py",
    "sim/network_port.py",
    "sim/open_file.py",
    "sim/page_cache.py",
    "sim/process.py",
    "sim/trace.py",
    "wire/fetch_session.py",
    "wire/framing.py",
    "wire/records_codec.py",
    "wire/versioned.py",
)
"""Files below ``highwater_runtime``: those that a profile of a random seed or of a leader shows."""


def main() -> None:
    """Build, unless there is a build of these sources."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="C compilers at a time")
    parser.add_argument("--optimize", default="1", choices=("0", "1", "2", "3"), help="level of the C compiler")
    parser.add_argument("--only", action="append", metavar="MODULE", help="not all of them: as log.records")
    arguments = parser.parse_args()
    directory = arguments.directory.resolve()
    modules = modules_to_compile(arguments.only)
    if fits(directory, modules):
        print(f"{directory} fits the sources")
    elif lacking := lacks():
        raise SystemExit(f"no {lacking}: needed to compile for this Python")
    else:
        build(directory, modules, jobs=arguments.jobs, optimize=arguments.optimize)
    print(f"to use it: export {compiled.SETTING}={directory}")


def modules_to_compile(only: Collection[str] | None = None) -> dict[str, Path]:
    """Full names and files of the modules to compile; ``only`` names some of them, without the package."""
    found = dict[str, Path]()
    for path in (compiled.SOURCES / file for file in COMPILED):
        name = ".".join(path.relative_to(compiled.SOURCES).with_suffix("").parts)
        if only is None or name in only:
            found[f"{compiled.SOURCES.name}.{name}"] = path
    if only is not None and len(found) < len(set(only)):
        raise SystemExit(f"--only: expected modules that are compiled, as log.records; found {', '.join(only)}")
    if len(found) < 2:
        raise SystemExit("--only: expected two modules or more, since mypyc names the files of a single one otherwise")
    return found


def fits(directory: Path, modules: Collection[str]) -> bool:
    """Whether the build in ``directory`` has these modules of these sources, for this Python."""
    manifest = compiled.manifest_in(directory)
    return (
        manifest is not None
        and manifest["sources"] == compiled.digest_of_sources()
        and manifest["suffix"] == compiled.SUFFIX
        and manifest["made_by"] == _made_by()
        and set(modules) <= set(manifest["modules"])
        and all((directory / file).is_file() for file in manifest["modules"].values())
    )


def _made_by() -> str:
    return f"mypyc {version('mypy')}"


def lacks() -> str:
    """What is missing on this machine to build; empty: nothing."""
    compiler = str(sysconfig.get_config_var("CC")).split()[0]
    header = Path(sysconfig.get_path("include"), "Python.h")
    return compiler if shutil.which(compiler) is None else "" if header.exists() else str(header)


def build(directory: Path, modules: dict[str, Path], *, jobs: int, optimize: str) -> None:
    """Build and check beside ``directory``, which appears last: a build that is there is whole, and works."""
    unfinished = directory.with_name(f"{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)
    _build(unfinished, modules, jobs=jobs, optimize=optimize)
    check = [sys.executable, str(ROOT / "scripts" / "check_compiled.py")]
    if subprocess.run(check, env=os.environ | {compiled.SETTING: str(unfinished)}, check=False).returncode != 0:  # noqa: S603
        raise SystemExit(f"this build cannot work; it is left in {unfinished}")
    unfinished.rename(directory)


def _build(directory: Path, modules: dict[str, Path], *, jobs: int, optimize: str) -> None:
    sources = compiled.digest_of_sources()
    work = directory / "work"
    work.mkdir(parents=True)
    os.chdir(ROOT)
    paths = [str(path) for path in modules.values()]
    library, *entries = mypycify(
        ["--config-file=pyproject.toml", *paths],
        only_compile_paths=paths,
        opt_level=optimize,
        debug_level="0",
        multi_file=True,
        target_dir=str(work),
    )
    compiler = _Compiler(work, library, jobs)
    files = {library.name: f"{library.name}{compiled.SUFFIX}"}
    compiler.link(_in_parts(library.sources, work, 4 * jobs), directory / files[library.name])
    for name, members in _in_files(entries, work).items():
        file = f"{name}{compiled.SUFFIX}"
        compiler.link([str(work / f"{name}.c")], directory / file)
        files |= dict.fromkeys(members, file)
    manifest = {"made_by": _made_by(), "sources": sources, "suffix": compiled.SUFFIX, "modules": files}
    shutil.rmtree(work)
    (directory / compiled.MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _in_parts(sources: list[str], work: Path, count: int) -> list[str]:
    """The C files of the library, those of our modules in ``count`` larger ones: each begins with the same headers."""
    ours = sorted((s for s in sources if Path(s).name.startswith("__native")), key=lambda s: -Path(s).stat().st_size)
    parts = [s for s in sources if s not in ours]
    for number in range(min(count, len(ours))):
        part = work / f"part{number}.c"
        part.write_text("".join(f'#include "{source}"\n' for source in ours[number::count]), encoding="utf-8")
        parts.insert(0, str(part))
    return parts


def _in_files(entries: list[Any], work: Path) -> dict[str, list[str]]:
    """Write the entry points of all modules into few C files; returns the modules in each.

    mypyc makes a file of each, which takes long to compile and to load. Python looks for an entry point by the last
    part of a module's name, so modules that share it go into different files.
    """
    names, texts = dict[str, list[str]](), dict[str, str]()
    for entry in entries:
        last = entry.name.rpartition(".")[2]
        number = 0
        while any(name.rpartition(".")[2] == last for name in names.get(f"entries{number}", [])):
            number += 1
        file = f"entries{number}"
        known = names.setdefault(file, [])
        source = Path(entry.sources[0]).resolve()
        texts[file] = texts.get(file, "") + (
            f'#define PyInit___init__ unused{len(known)}\n#include "{source}"\n#undef PyInit___init__\n'
        )
        known.append(entry.name)
    for file, text in texts.items():
        (work / f"{file}.c").write_text(text, encoding="utf-8")
    return names


class _Compiler:
    """The C compiler with which this Python was built, several at a time."""

    def __init__(self, work: Path, like: Any, jobs: int) -> None:
        # From Python 3.12 on it is setuptools that has it, which mypyc has imported.
        from distutils import ccompiler  # noqa: PLC0415
        from distutils import sysconfig as compiler_settings  # noqa: PLC0415

        self._compiler: Any = ccompiler.new_compiler()
        compiler_settings.customize_compiler(self._compiler)
        self._objects = str(work / "objects")
        self._include = [*like.include_dirs, sysconfig.get_path("include")]
        self._flags = like.extra_compile_args
        self._jobs = jobs

    def link(self, sources: list[str], target: Path) -> None:
        """Compile ``sources`` and link them into the extension ``target``."""
        with ThreadPoolExecutor(self._jobs) as pool:
            objects = list(pool.map(self._compile, sources))
        self._compiler.link_shared_object(objects, str(target))

    def _compile(self, source: str) -> str:
        made: list[str] = self._compiler.compile(
            [source], output_dir=self._objects, include_dirs=self._include, extra_postargs=self._flags
        )
        return made[0]


if __name__ == "__main__":
    main()
