"""Run the node agent until SIGTERM (``highwater-agent``).

Its settings come from the environment (:mod:`~.settings`). When it ends, faults stay in force, and the next agent
continues with them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import kubernetes
from aiohttp import web

from highwater_chaos.kube.client import Kube, local_configuration
from highwater_chaos.kube.kinds import VOLUME_USED
from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent import metrics
from highwater_operator.agent.admission import Admission, ApiNamespaces
from highwater_operator.agent.attachments import Attachments
from highwater_operator.agent.clusters import ApiClusters
from highwater_operator.agent.health import Health
from highwater_operator.agent.http_api import QUIET, Api
from highwater_operator.agent.kept_events import KeptEvents
from highwater_operator.agent.listener import IDLE_S, Listener
from highwater_operator.agent.machine import Machine
from highwater_operator.agent.machine_record import MachineRecord
from highwater_operator.agent.machine_run import open_run
from highwater_operator.agent.orphans import Collector
from highwater_operator.agent.pod_events import PodEvents
from highwater_operator.agent.pod_files import bound_events
from highwater_operator.agent.pods import ApiPods, Pod
from highwater_operator.agent.records import Records
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.service import Faults
from highwater_operator.agent.settings import HELP, Settings
from highwater_operator.agent.tls import ServerCertificate, read_again
from highwater_operator.agent.volumes import Volumes
from highwater_operator.agent.wanted_volumes import wanted_by
from highwater_runtime.log_lines import configure_json, log_event

_log = logging.getLogger("highwater.agent")
_THREADS_END_WITHIN: Final = 2.0
_TICK: Final = 0.5
_ATTACH_EVERY: Final = 0.5
_SAMPLE_EVERY: Final = 5.0
_CERTIFICATE_AGAIN: Final = 10.0
_VOLUMES_AGAIN: Final = 5.0
_NOT_OURS: Final = (403, 404, 409)
"""Statuses of refusals to look at a pod that is of no LogCluster, or is gone."""
_TICKS_WITHIN: Final = 60.0
_VOLUMES_WITHIN: Final = 600.0
"""Seconds: a file system may take minutes to be made, and the API server to answer."""


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status: 0 after SIGTERM, 1 if the machine lacks a capability, 2 if it is not configured."""
    argparse.ArgumentParser(
        prog="highwater-agent",
        description="Inject and heal faults on one Kubernetes node until SIGTERM.\n"
        "When the agent ends, faults stay in force. The next agent continues with them.",
        epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args(argv)
    try:
        settings = Settings.from_environment(os.environ)
    except MachineError as error:
        sys.stderr.write(f"highwater-agent: {error}\n")
        return 2
    configure_json("agent", node=settings.node)
    try:
        if os.geteuid() != 0:
            raise MachineError("the agent must be root, in a privileged container with hostPID")
        asyncio.run(Agent(settings).run())
    except (MachineError, OSError) as error:
        log_event(_log, logging.ERROR, "the agent cannot work", error=str(error))
        return 1
    _leave()
    return 0


def _leave() -> None:
    """Wait for threads, and end the process beside those that do not end: one may talk to a pod that never answers, and
    an interpreter that is taken down beneath a thread may abort."""
    until = time.monotonic() + _THREADS_END_WITHIN
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    for thread in others:
        thread.join(max(0.0, until - time.monotonic()))
    if any(thread.is_alive() for thread in others):
        sys.stderr.flush()
        os._exit(0)


def log(event: str, **fields: object) -> None:
    """Log an event of the agent's own life."""
    log_event(_log, logging.INFO, event, **fields)


class Agent:
    """The parts, and the threads that look after what time does."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._certificate = ServerCertificate(settings)
        self._volumes = Volumes(settings.state, settings.volumes, settings.limits)
        for failure in self._volumes.mount_all():
            log("a volume is not mounted", error=failure)
        self._failing: dict[str, str] = {}
        machine, notes = open_run(settings.state)
        for what in notes:
            log("continued an earlier run", what=what)
        self._wanted = threading.Event()
        configuration = _configuration()
        self._pods = ApiPods(configuration, settings.node, self._on_change)
        self._events = PodEvents(Kube(configuration, manager="highwater-agent"), settings.node, self._log_once)
        clusters = ApiClusters(configuration)
        self._admission = Admission(settings.node, self._pods, ApiNamespaces(configuration), clusters)
        self._kept = KeptEvents(
            settings.kubelet, lambda pod: self._admission.readable(pod.namespace, pod.name, pod.uid, None)
        )
        self._faults = Faults(
            self._admission,
            machine,
            self._volumes,
            Records(settings.state / "faults"),
            settings.kubelet,
            Machine(settings.node, Kube(configuration, patience=0.0), self._pods_of_clusters, settings.kubelet),
        )
        for what in self._faults.recover():
            log("recovered after a start", what=what)
        self._collector = Collector(
            settings.node,
            self._volumes,
            self._pods,
            clusters,
            self._faults.all,
            lambda volume, what: log("volume removed", about=volume, what=what),
            self._log_once,
        )
        self._attachments = Attachments(self._volumes, self._pods.known, self._log_once)
        self._machine = MachineRecord(settings.node, settings.state, reset_by=self._faults.reset_by())
        self._ended = threading.Event()
        self._health = Health()

    async def run(self) -> None:
        """Until SIGTERM or SIGINT."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        # Once for each kind: asyncio has a traceback for every stranger that does not speak TLS.
        loop.set_exception_handler(
            lambda _, error: self._log_once("http", f"{error['message']}: {type(error.get('exception')).__name__}")
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        self._pods.start()
        threads = [
            threading.Thread(target=self._repeat, args=(self._faults.tick, _TICK), name="faults", daemon=True),
            threading.Thread(
                target=self._repeat, args=(self._attachments.look, _ATTACH_EVERY), name="attachments", daemon=True
            ),
            threading.Thread(
                target=self._repeat, args=(self._machine.sample, _SAMPLE_EVERY), name="machine", daemon=True
            ),
            threading.Thread(target=self._look_after_volumes, name="volumes", daemon=True),
        ]
        for thread, within in zip(threads, (*[_TICKS_WITHIN] * 3, _VOLUMES_WITHIN), strict=True):
            thread.start()
            self._health.watch(thread.name, thread.is_alive, within)
        self._health.watch("pod-watch", self._pods.alive)
        api = Api(
            self._settings,
            self._faults,
            self._admission,
            self._volumes,
            self._machine,
            self._health.wrong,
            self._kept,
        )
        runner = web.AppRunner(api.application(), keepalive_timeout=IDLE_S, **QUIET)
        await runner.setup()
        assert runner.server is not None
        listener = Listener(runner.server, self._certificate.context)
        port = listener.start(self._settings.host, self._settings.port)
        driver = self._start_driver()
        log("the agent works", port=port)
        _write_port(self._settings.state, port)
        try:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_CERTIFICATE_AGAIN):
                        await stop.wait()
                self._log_once("certificate", read_again(self._certificate, self._settings.tls_certificate))
        finally:
            self._ended.set()
            self._wanted.set()
            self._pods.close()
            if driver is not None:
                driver()
            await listener.close()
            await runner.cleanup()

    def _pods_of_clusters(self) -> list[Pod]:
        """Those on this machine. Raises ``RefusalError``: the API server does not say whose a pod is."""
        found = []
        for pod in self._pods.known():
            try:
                found.append(self._admission.readable(pod.namespace, pod.name, pod.uid, None))
            except RefusalError as refusal:
                if refusal.status not in _NOT_OURS:
                    raise
        return [pod for pod in found if pod.of_cluster]

    def _on_change(self, pod: Pod) -> None:
        self._kept.look_at(pod)
        self._wanted.set()

    def _start_driver(self) -> Callable[[], None] | None:
        """Serve the CSI driver, if there is to be one; returns what ends it."""
        if self._settings.csi_socket is None:
            return None
        # Here alone: gRPC takes 40 MiB and a second, which agents without a driver need not spend.
        from highwater_operator.agent.csi.claims import Claims  # noqa: PLC0415
        from highwater_operator.agent.csi.server import CsiServer  # noqa: PLC0415

        settings = self._settings
        claims = Claims(self._volumes, settings.limits, settings.state, settings.kubelet)
        server = CsiServer(claims, settings.node, version("highwater-chaos"), self._log_once)
        server.start(self._settings.csi_socket)
        return server.stop

    def _repeat(self, step: Callable[[], object], pause: float) -> None:
        """Call ``step`` every ``pause`` seconds until the end. Logs each new error once, and goes on."""
        name = threading.current_thread().name
        while not self._ended.wait(pause):
            try:
                step()
                self._failing.pop(name, None)
                self._health.beat(name)
            except Exception as error:  # a thread that dies would leave faults in force: log it and go on
                why = f"{type(error).__name__}: {error}"
                self._health.failed(name, why)
                self._log_once(name, why)

    def _look_after_volumes(self) -> None:
        while not self._ended.is_set():
            self._wanted.wait(_VOLUMES_AGAIN)
            self._wanted.clear()
            for pod in self._pods.known():
                if self._ended.is_set():
                    return
                self._ensure_volume(pod)
                self._bound_events(pod)
                self._health.beat("volumes")
            if self._pods.synced.is_set():
                self._remove_orphans()
                self._events.keep({pod.uid for pod in self._pods.known()})
            self._health.beat("volumes")

    def _ensure_volume(self, pod: Pod) -> None:
        try:
            if (wanted := wanted_by(pod)) is not None:
                if pod.annotations.get(VOLUME_USED) == "true":
                    self._volumes.ensure_is_there(wanted)
                self._volumes.ensure(wanted)
                self._failing.pop(pod.volume, None)
                self._events.made(pod)
        except Exception as error:  # of this pod's volume alone: the thread that makes the others must not end
            metrics.VOLUME_FAILURES.inc()
            why = f"volume {pod.volume}: {error}"
            if isinstance(error, RefusalError):
                why += f": expected {error.body['expected']}, found {error.body['found']}"
            self._log_once(pod.volume, why)
            self._events.refused(pod, why)

    def _bound_events(self, pod: Pod) -> None:
        about = f"events of {pod.namespace}/{pod.name}"
        try:
            bound_events(pod, self._settings.kubelet)
            self._failing.pop(about, None)
        except (MachineError, OSError) as error:
            self._log_once(about, f"{about} are not bounded: {error}")

    def _remove_orphans(self) -> None:
        about = "volumes of deleted LogClusters"
        try:
            self._collector.look()
            self._failing.pop(about, None)
        except RefusalError as refusal:
            self._log_once(about, f"{about} stay while it is not known which LogClusters there are: {refusal}")
        except Exception as error:  # the thread that makes volumes must not end with it: log it and go on
            self._log_once(about, f"{about} cannot be looked for: {type(error).__name__}: {error}")

    def _log_once(self, about: str, what: str | None) -> None:
        if what is None:
            self._failing.pop(about, None)
        elif self._failing.get(about) != what:
            self._failing[about] = what
            log_event(_log, logging.WARNING, "something cannot be done", about=about, error=what)


def _configuration() -> kubernetes.client.Configuration:
    try:
        return local_configuration()
    except kubernetes.config.ConfigException as error:
        raise MachineError(f"there is no API server to ask about pods: {error}") from error


def _write_port(state: Path, port: int) -> None:
    """For port 0: which one it came to."""
    part = state / "port.part"
    part.write_text(f"{port}\n")
    part.rename(state / "port")


if __name__ == "__main__":
    sys.exit(main())
