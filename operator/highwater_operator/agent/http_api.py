"""The agent's HTTPS interface: what is asked for, by whom, and how refusals look. All bodies are JSON.

======================================== ===============================================================================
``PUT /v1/faults/<id>``                  bring a fault about (:mod:`~.faults`); a repetition changes nothing
``DELETE /v1/faults/<id>``               undo it; idempotent
``GET /v1/faults``, ``…/<id>``           records (:mod:`~.records`); of one in force with what is seen of it now
``PUT``, ``DELETE /v1/volumes/<name>``   a crashable volume ``<namespace>_<pod>``; idempotent
``GET /v1/volumes``                      all of them
``GET /v1/pods/<ns>/<pod>/events``       the node's events file from byte ``?offset=``; headers ``X-Highwater-File``
                                         (another file has another one), ``X-Highwater-Next`` (where to go on),
                                         ``X-Highwater-Size``
``GET /v1/pods/<ns>/<pod>/dump``         the broker's replicas batch by batch, a JSON array a line
``GET /v1/pods/<ns>/<pod>/metrics``      the node's own metrics
``GET /v1/pods/<ns>/<pod>/<probe>``      what a probe (:data:`PROBES`) sees of the node: ``{"result": …}``. Its
                                         parameters stand in the query
``GET /v1/machine``                      load, disk space and starts of the agent (:mod:`~.machine_record`) since
                                         ``?since=`` (seconds since the epoch): ``{"items": […]}``
``GET /v1/pods/…?uid=``                  409 if the pod of this name is another one by now; of events not for some
                                         minutes after a pod of a LogCluster was deleted (:mod:`.kept_events`)
``GET /v1/pods/…?container=``            which of its containers is the node (without: ``node``)
``GET /v1/pods/…?volume=``               which of its volumes has the data (without: its only claim)
``GET /v1/clock``                        the machine's clocks and which boot it is: ``{"monotonicNs": 1, "wallNs": 2,
                                         "bootId": "…"}``. Nothing is waited for
``GET /healthz``, ``/metrics``           the agent's own, without a token
======================================== ===============================================================================
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial
from typing import Any, Final, TypeVar

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from highwater_chaos.base.strict_model import Model
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.cuts import Address, Port
from highwater_chaos.machine.kernel.proc import boot_id
from highwater_chaos.machine.network.link_probes import answering
from highwater_operator.agent import metrics, pod_files
from highwater_operator.agent.admission import Admission
from highwater_operator.agent.authentication import authenticate
from highwater_operator.agent.fault_log import log_refused_look
from highwater_operator.agent.faults.base import PodNode
from highwater_operator.agent.faults.derived import MACHINE_PROBES
from highwater_operator.agent.faults.kinds import read_fault
from highwater_operator.agent.faults.node_program import session
from highwater_operator.agent.kept_events import KeptEvents
from highwater_operator.agent.machine_record import MachineRecord
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.pools import Pools
from highwater_operator.agent.records import FAULT_ID
from highwater_operator.agent.refusals import RefusalError
from highwater_operator.agent.requests import model_of, read_query, read_volume
from highwater_operator.agent.service import Faults
from highwater_operator.agent.settings import Settings
from highwater_operator.agent.volumes import VolumeRecord, Volumes, ensure_name

LARGEST_BODY: Final = 256 * 1024
_SILENT: Final = logging.getLogger("highwater.agent.http")
_SILENT.disabled = True
QUIET: Final[dict[str, Any]] = {"access_log": None, "logger": _SILENT}
"""For aiohttp's server, which logs a traceback for every request that is none: a stranger could fill the node's disk,
and slow everybody else down. Errors of handlers are answers (:meth:`Api.application`)."""
_OPEN: Final = frozenset({"/healthz", "/metrics"})
_POD_QUERY: Final = frozenset({"uid", "container", "volume"})
_BODY_WITHIN: Final = 30.0
"""Seconds."""
_ANSWERS_WITHIN: Final = 0.7
"""Seconds. A peer answers within milliseconds; a cut is what this waits for."""


def reaches(node: PodNode, peer: Address, port: Port) -> bool:
    """Probe: whether an address answers a TCP connection from inside the pod's network; a refusal is an answer."""
    return bool(answering(node.network(), [(peer, port)], _ANSWERS_WITHIN))


def crashable(node: PodNode) -> bool:
    """Probe: whether the pod has one volume that can lose power."""
    return node.has_volume()


def reset_refused(node: PodNode) -> str:
    """Probe: why the pod's machine is not reset; empty: it would be."""
    try:
        node.machine.ensure_resettable()
    except RefusalError as refusal:
        expected = refusal.body["expected"]
        return f"{refusal}; expected {expected}" if expected else str(refusal)
    return ""


PROBES: Final[dict[str, Callable[..., Any]]] = {
    **MACHINE_PROBES,
    "reaches": reaches,
    "session": session,
    "crashable": crashable,
    "reset_refused": reset_refused,
}
"""By the last part of their paths."""
_PROBES: Final = {name: (look, model_of(name, look, Model)) for name, look in PROBES.items()}

T = TypeVar("T")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """See the module. ``healthy`` says what is wrong with the agent; None: nothing."""

    def __init__(
        self,
        settings: Settings,
        faults: Faults,
        admission: Admission,
        volumes: Volumes,
        machine: MachineRecord,
        healthy: Callable[[], str | None],
        kept: KeptEvents,
    ) -> None:
        self._settings = settings
        self._faults = faults
        self._admission = admission
        self._volumes = volumes
        self._machine = machine
        self._healthy = healthy
        self._kept = kept
        self._pools = Pools()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._middleware], client_max_size=LARGEST_BODY)
        app.add_routes(
            [
                web.get("/healthz", self._healthz),
                web.get("/metrics", self._metrics),
                web.get("/v1/clock", self._clock),
                web.get("/v1/faults", self._list_faults),
                web.get("/v1/faults/{id}", self._get_fault),
                web.put("/v1/faults/{id}", self._put_fault),
                web.delete("/v1/faults/{id}", self._delete_fault),
                web.get("/v1/volumes", self._list_volumes),
                web.put("/v1/volumes/{name}", self._put_volume),
                web.delete("/v1/volumes/{name}", self._delete_volume),
                web.get("/v1/machine", self._machine_record),
                web.get("/v1/pods/{namespace}/{pod}/events", self._events),
                web.get("/v1/pods/{namespace}/{pod}/dump", self._dump),
                web.get("/v1/pods/{namespace}/{pod}/metrics", self._pod_metrics),
                *(
                    web.get(f"/v1/pods/{{namespace}}/{{pod}}/{name}", partial(self._probe, look, model))
                    for name, (look, model) in _PROBES.items()
                ),
            ]
        )
        return app

    # --- faults ---

    async def _put_fault(self, request: web.Request) -> web.Response:
        fault, asked = _id(request), read_fault(await _body(request))
        record = await self._pools.injections.run(asked.pod.uid, lambda: self._faults.put(fault, asked))
        return web.json_response(record.plain())

    async def _delete_fault(self, request: web.Request) -> web.Response:
        fault = _id(request)
        pod = await self._pod_of(fault)
        record = await self._pools.heals.run(pod, lambda: self._faults.heal(fault))
        return web.json_response(record.plain())

    async def _get_fault(self, request: web.Request) -> web.Response:
        fault = _id(request)
        pod = await self._pod_of(fault)
        record = await self._pools.reads.run(pod, lambda: self._faults.get(fault, observe=True))
        return web.json_response(record.plain())

    async def _list_faults(self, request: web.Request) -> web.Response:
        del request
        records = await self._pools.own.run("", self._faults.all)
        return web.json_response({"items": [record.plain() for record in records]})

    # --- volumes ---

    async def _put_volume(self, request: web.Request) -> web.Response:
        wanted = VolumeRecord.of(request.match_info["name"], read_volume(await _body(request)))
        record = await self._pools.injections.run(wanted.name, lambda: self._volumes.ensure(wanted))
        return web.json_response(self._volume(record))

    async def _delete_volume(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        ensure_name(name)
        if busy := [one.id for one in await self._pools.own.run("", self._faults.all) if one.volume_in_force == name]:
            raise RefusalError(409, f"volume {name} has faults in force", expected="none", found=", ".join(busy))
        try:
            there = await self._pools.injections.run(name, lambda: self._volumes.remove(name))
        except MachineError as error:
            raise RefusalError(409, str(error), expected="a volume that no process uses", found="one in use") from error
        return web.json_response({"name": name, "removed": there})

    async def _list_volumes(self, request: web.Request) -> web.Response:
        del request
        records = await self._pools.own.run("", self._volumes.all)
        return web.json_response({"items": [self._volume(record) for record in records]})

    def _volume(self, record: VolumeRecord) -> dict[str, object]:
        volume = self._volumes.machine_volume(record)
        return {
            "name": record.name,
            "sizeBytes": record.size_bytes,
            "fileSystem": record.file_system,
            "mounted": volume.mounted(),
            "mountPoint": volume.mount_point,
            "data": str(self._volumes.data(record.name)),
        }

    async def _machine_record(self, request: web.Request) -> web.Response:
        text = request.query.get("since", "0")
        if not text.isdecimal() or len(text) > 18:
            raise RefusalError(400, "since is no time", expected="seconds since the epoch", found=text[:60])
        rows = await self._pools.own.run("", lambda: self._machine.since(int(text)))
        return web.json_response({"items": rows})

    # --- pods ---

    async def _events(self, request: web.Request) -> web.StreamResponse:
        named = request.match_info
        pod = self._kept.pod(named["namespace"], named["pod"], request.query.get("uid"))
        pod = pod or await self._readable(request)
        text = request.query.get("offset", "0")
        if not text.isdecimal() or len(text) > 18:
            raise RefusalError(400, "offset is no byte", expected="a number, 0 or more", found=text[:60])
        piece = await self._read(pod, lambda: self._piece(pod, int(text)))
        with closing(piece):
            answer = web.StreamResponse(
                headers={
                    "Content-Type": "application/x-ndjson",
                    "Content-Length": str(piece.length),
                    "X-Highwater-File": piece.file,
                    "X-Highwater-Next": str(piece.offset + piece.length),
                    "X-Highwater-Size": str(piece.size),
                }
            )
            await answer.prepare(request)
            done = 0
            while data := await self._read(pod, partial(piece.read, done)):
                await answer.write(data)
                done += len(data)
            if done < piece.length:
                answer.force_close()  # so that the caller sees that it is not all, and asks again
            await answer.write_eof()
            return answer

    def _piece(self, pod: Pod, offset: int) -> pod_files.Piece:
        return self._kept.read(pod, offset) or pod_files.events(pod, self._settings.kubelet, offset)

    async def _dump(self, request: web.Request) -> web.StreamResponse:
        pod = await self._readable(request)
        pieces = await self._read(pod, lambda: pod_files.replica_rows(pod, self._volumes))
        # Read the first piece before the answer begins: until then an error can still be sent.
        piece = await self._read(pod, lambda: next(pieces, b""))
        answer = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await answer.prepare(request)
        try:
            while piece:
                await answer.write(piece)
                piece = await self._read(pod, lambda: next(pieces, b""))
        except Exception:
            # Whatever a pod's files did: the caller sees that it is not all, because the answer has no end.
            if request.transport is not None:
                request.transport.abort()
            return answer
        await answer.write_eof()
        return answer

    async def _pod_metrics(self, request: web.Request) -> web.Response:
        pod = await self._readable(request)
        try:
            status, body = await self._read(pod, lambda: pod_files.node_metrics(pod))
            if status != 200:
                raise MachineError(f"the pod answered with status {status}")
        except MachineError as error:
            raise RefusalError(502, str(error), expected="the node's admin server", found="no response") from error
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _probe(self, look: Callable[..., Any], model: type[Model], request: web.Request) -> web.Response:
        pod = await self._readable(request)
        parameters = read_query(model, {name: text for name, text in request.query.items() if name not in _POD_QUERY})
        found = await self._read(pod, lambda: look(self._faults.node(pod), **dict(parameters)))
        return web.json_response({"result": found})

    async def _readable(self, request: web.Request) -> Pod:
        namespace, name = request.match_info["namespace"], request.match_info["pod"]
        uid, container = request.query.get("uid"), request.query.get("container")
        volume = request.query.get("volume", "")
        try:
            return await self._pools.own.run(
                "", lambda: self._admission.readable(namespace, name, uid, container, volume)
            )
        except RefusalError as refusal:
            if refusal.status == 403:
                log_refused_look(namespace, name, request.path, refusal)
            raise

    # --- the agent itself ---

    async def _clock(self, request: web.Request) -> web.Response:
        del request
        boot = boot_id()
        return web.json_response({"bootId": boot, "wallNs": time.time_ns(), "monotonicNs": time.monotonic_ns()})

    async def _healthz(self, request: web.Request) -> web.Response:
        del request
        wrong = self._healthy() or await self._pools.heals.stuck() or await self._pools.own.stuck()
        return web.Response(status=200 if wrong is None else 503, text=(wrong or "ok") + "\n")

    async def _metrics(self, request: web.Request) -> web.Response:
        del request
        return web.Response(body=generate_latest(metrics.REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})

    @web.middleware
    async def _middleware(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            if request.path not in _OPEN:
                authenticate(request.headers.get("Authorization", ""), self._settings.token_file)
            answer = await handler(request)
        except RefusalError as refusal:
            if refusal.status == 401:
                metrics.UNAUTHORIZED.inc()
            answer = web.json_response(refusal.body, status=refusal.status)
        except web.HTTPException as error:
            body = {"error": error.reason, "expected": "", "found": f"{request.method} {request.path}"}
            answer = web.json_response(body, status=error.status)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # told to the caller, whatever it is; a pod may have had a part in it
            body = {"error": str(error)[:1000], "expected": "a machine that does it", "found": type(error).__name__}
            answer = web.json_response(body, status=500)
        metrics.REQUESTS.labels(request.method, answer.status).inc()
        return answer

    async def _read(self, pod: Pod, call: Callable[[], T]) -> T:
        return await self._pools.reads.run(pod.uid, call)

    async def _pod_of(self, fault: str) -> str:
        return await self._pools.own.run("", lambda: self._faults.pod_of(fault))


async def _body(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(_BODY_WITHIN):
            return await request.read()
    except TimeoutError:
        raise RefusalError(
            408, "the body takes too long", expected=f"all of it within {_BODY_WITHIN:g} s", found="a part"
        ) from None


def _id(request: web.Request) -> str:
    fault = request.match_info["id"]
    if not FAULT_ID.fullmatch(fault):
        raise RefusalError(400, "no id of a fault", expected=FAULT_ID.pattern, found=fault[:120])
    return fault
