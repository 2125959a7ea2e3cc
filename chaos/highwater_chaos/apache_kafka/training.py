"""Makes the class-data archive: Kafka's classes, loaded and verified once and mapped into memory from then on.

A JVM writes the archive when it exits (dynamic CDS). To load what nodes load, one that is broker and controller at
once starts up, and is stopped again. Seen with 4.3.1 on Java 17: a controller is up after 1.0 s of CPU time instead of
1.8 s, a broker and controller in one after 1.3 s instead of 2.0 s.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final, Protocol

_UP: Final = "Kafka Server started"
_INFO: Final = "-Dorg.apache.logging.log4j.level=INFO"
"""Without a configuration Log4j 2 writes to the standard output, and by default errors only."""
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05


class CommandLine(Protocol):
    """How to run a main class of Kafka's."""

    def __call__(self, main: str, *arguments: str, options: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The command line."""


def make_class_archive(command: CommandLine, archive: Path) -> str | None:
    """Write ``archive``, whole or not at all. Returns why that did not work, None where it did: nodes run without."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as name:
        scratch = Path(name)
        unfinished = scratch / "classes.jsa"
        config = _node(scratch)
        output = scratch / "output"
        format_disk = command("kafka.tools.StorageTool", "format", "-t", "highwater-training-000", "-c", str(config))
        run_node = command("kafka.Kafka", str(config), options=(f"-XX:ArchiveClassesAtExit={unfinished}", _INFO))
        with output.open("ab") as file:
            try:
                subprocess.run(format_disk, stdout=file, stderr=file, timeout=_START_SECONDS, check=True)  # noqa: S603
                node = subprocess.Popen(run_node, stdout=file, stderr=file)  # noqa: S603 - the user's own Java
            except (OSError, subprocess.SubprocessError) as error:
                return f"{error}: {output.read_text(errors='replace')[-400:]}"
        try:
            deadline = time.monotonic() + _START_SECONDS
            while _UP not in output.read_text(errors="replace"):
                if node.poll() is not None or time.monotonic() > deadline:
                    return f"the training node did not start: {output.read_text(errors='replace')[-400:]}"
                time.sleep(_POLL_SECONDS)
            node.terminate()
            node.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            return "the training node did not stop"
        finally:
            if node.poll() is None:
                node.kill()
                node.wait()
        if not unfinished.exists():
            return f"the JVM wrote no archive: {output.read_text(errors='replace')[-400:]}"
        unfinished.rename(archive)
    return None


def _node(scratch: Path) -> Path:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        broker, controller = (server.getsockname()[1] for server in (one, other))
    config = scratch / "node.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{broker}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        "log.cleaner.dedupe.buffer.size=2097152\n"
        f"log.dirs={scratch}/data\n",
        encoding="utf-8",
    )
    return config
