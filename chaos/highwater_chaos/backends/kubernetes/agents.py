"""Clients of the node agents: HTTPS with JSON, a bearer token, one agent for each node.

Requests carry their fault's id, so they can be repeated: a request without an answer is sent again for a while. The
caller decides what a refusal means; nothing here gives up silently.

Connections are kept for a while: a handshake costs more than most requests, and on a busy machine it takes seconds. One
that the agent has ended meanwhile is made anew. Every wait has an end: a connection is made within seconds or not at
all, and an answer has a time that goes with what was asked; a fault is asked for until its own deadline, a minute at
most, so that an agent that restarts in the middle is asked again. An agent's pod may be replaced at any moment, by one
with another address: who follows agents (:class:`Followed`) looks their addresses up again whenever one does not
answer, and asks one that was silent for its whole patience only after it has been heard of again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median_low
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlencode, urlsplit

import msgspec
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential

from highwater_chaos.backends.kubernetes.agent_trust import SERVER_NAME, AgentConnection, Trust, keep_alive, why_refused
from highwater_chaos.kube.kinds import Json
from highwater_chaos.records.dump import DUMPED, Dumped
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.portable import PortableError

AGENT_PORT: Final = 9405
OVER: Final = frozenset({"done", "failed", "healed", "expired"})
"""States of a fault of which nothing is left."""
REPLACED: Final = 409
"""Status of an answer about a pod that is another one by now."""
GONE: Final = 410
"""Status of an answer about events that are not kept any more."""
_CONNECT_WITHIN: Final = 10.0
_KNOCK_WITHIN: Final = 4.0
_ANSWER_WITHIN: Final = 15.0
_DUMP_WITHIN: Final = 60.0
_ACT_WITHIN: Final = 45.0
_INJECT_WITHIN: Final = 100.0
"""Seconds for an answer; a node that is asked to stop may take 75."""
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})
_KEPT_FOR: Final = 20.0
_MOST_KEPT: Final = 8
_INSISTS: Final = 6.0
"""How many times its patience a client goes on to ask for a fault whose deadline is far away."""


class AgentError(PortableError):
    """An agent did not do what it was asked; ``status`` is that of HTTP, 0 where there was no answer. ``reason``: what
    it said itself."""

    def __init__(self, message: str, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason or message


class _NoAnswerError(AgentError):
    """There was no response, or the agent cannot do it at the moment. Worth another try."""


class Followed(Protocol):
    """Where one node's agent is, over all pods that it has had. Safe to use from any thread."""

    silent: bool
    """It was asked for a request's whole patience, and did not answer; nothing was heard of it since."""

    def now(self) -> AgentClient | None:
        """As it was last seen; None: nowhere yet."""

    def look_again(self) -> None:
        """It does not answer there: perhaps it is elsewhere by now. Never raises."""


class _Clock(msgspec.Struct, frozen=True):
    """An agent's clock, as its response states it."""

    bootId: str  # noqa: N815
    monotonicNs: int  # noqa: N815
    wallNs: int  # noqa: N815


class MachineClock(NamedTuple):
    """``CLOCK_MONOTONIC`` of a machine in one ``boot``: how far it is ahead of this machine's, how far that may be off,
    and how far the machine's wall clock is ahead of it."""

    boot: str
    ahead_ns: int
    error_ns: int
    wall_ahead_ns: int


@dataclass(frozen=True, slots=True)
class AgentClient:
    """One agent. Safe to use from any thread; requests at the same time have connections of their own.

    Args:
        url: ``https://10.244.1.7:9405``.
        token: what callers must show.
        trust: by which the agent is known; nothing is sent to one that does not show its certificate.
        patience: seconds for which a request without an answer is tried again.
        through: makes a connection where the URL's address cannot be reached from here.
        followed: where it is found when its pod is replaced; None: it is asked at ``url`` for ever.
    """

    url: str
    token: str = field(repr=False)
    trust: Trust = field(default_factory=Trust)
    patience: float = 10.0
    through: Callable[[float], HTTPConnection] | None = field(default=None, compare=False)
    followed: Followed | None = field(default=None, compare=False, repr=False)
    _kept: list[tuple[HTTPConnection, float]] = field(default_factory=list, init=False, compare=False, repr=False)

    def put_fault(self, fault: str, body: Json) -> Json:
        """Bring a fault about, once; returns its record. Raises ``AgentError``."""
        return self._json("PUT", f"/v1/faults/{fault}", body)

    def heal_fault(self, fault: str) -> Json:
        """Undo a fault; one that was never asked for never will be. Raises ``AgentError``."""
        return self._json("DELETE", f"/v1/faults/{fault}")

    def fault(self, fault: str) -> Json | None:
        """A fault's record, with what is seen of it now; None: the agent never heard of it. Raises ``AgentError``."""
        try:
            return self._json("GET", f"/v1/faults/{fault}")
        except AgentError as error:
            if error.status == 404:
                return None
            raise

    def clock(self) -> MachineClock:
        """How far its machine's clock is ahead of ours, by the best of several requests. Raises ``AgentError``."""
        found: list[_Clock] = []

        def read() -> int:
            try:
                found.append(msgspec.json.decode(self._ask("GET", "/v1/clock"), type=_Clock))
            except msgspec.DecodeError as error:
                raise AgentError(f"agent {self.url}: expected its machine's clock: {error}", 502) from error
            return found[-1].monotonicNs

        ahead = how_far_ahead(read, of=time.monotonic_ns)
        boots = {one.bootId for one in found}
        if len(boots) > 1:
            raise AgentError(f"agent {self.url}: its machine has booted meanwhile", 0)
        # An agent reads the one clock after the other, and may have been preempted in between, but not most times.
        return MachineClock(boots.pop(), *ahead, median_low(one.wallNs - one.monotonicNs for one in found))

    def faults(self) -> list[Json]:
        """Every fault that the agent knows of. Raises ``AgentError``."""
        answer = self._ask("GET", "/v1/faults")
        found = json.loads(answer)
        listed: list[Json] = found["items"]
        return listed

    def events(self, namespace: str, pod: str, uid: str, offset: int) -> bytes:
        """What the pod's node has written to its event file from byte ``offset`` on. Raises ``AgentError``; its status
        is :data:`REPLACED` if the pod is another one than ``uid`` by now, :data:`GONE` if that is not kept any more."""
        return self._ask("GET", f"/v1/pods/{namespace}/{pod}/events?offset={offset}&uid={uid}")

    def dump(self, namespace: str, pod: str) -> list[Dumped]:
        """Every record of every replica on the pod's disk. Raises ``AgentError``."""
        return DUMPED.decode_lines(self._ask("GET", f"/v1/pods/{namespace}/{pod}/dump"))

    def metrics(self, namespace: str, pod: str) -> str:
        """The pod's ``/metrics``. Raises ``AgentError``."""
        return self._ask("GET", f"/v1/pods/{namespace}/{pod}/metrics").decode()

    def machine(self, since: int) -> list[Json]:
        """How the agent's machine was since a time (seconds since the epoch). Raises ``AgentError``."""
        rows: list[Json] = self._json("GET", f"/v1/machine?since={since}")["items"]
        return rows

    def look(self, namespace: str, pod: str, probe: str, result: Any, parameters: Mapping[str, Any] = _NONE) -> Any:
        """What a probe sees of the pod's node, as a ``result`` (a type). Raises ``AgentError``."""
        path = f"/v1/pods/{namespace}/{pod}/{probe}?{urlencode(parameters)}"
        try:
            return msgspec.convert(self._json("GET", path)["result"], result)
        except (KeyError, msgspec.ValidationError) as error:
            raise AgentError(f"agent {self.url}: {probe}: expected {result}: {error!r}", 502) from error

    def _json(self, method: str, path: str, body: Json | None = None) -> Json:
        found: Json = json.loads(self._ask(method, path, body))
        return found

    def _ask(self, method: str, path: str, body: Json | None = None) -> bytes:
        followed = self.followed
        trying = Retrying(
            # A caller that waits for a silent agent would wait again for each request.
            stop=stop_after_delay(0.0 if followed is not None and followed.silent else self._patience(body)),
            wait=wait_exponential(0.1, max=2.0),
            retry=retry_if_exception_type(_NoAnswerError),
            reraise=True,
        )
        try:
            return trying(self._once_where_it_is, method, path, body)
        except _NoAnswerError as error:
            if followed is not None and error.status == 0:
                followed.silent = True
            raise

    def _once_where_it_is(self, method: str, path: str, body: Json | None) -> bytes:
        followed = self.followed
        if followed is None:
            return self._once(method, path, body, _time_for(method, path, body))
        at = followed.now() or self
        try:
            if followed.silent:
                at._knock()
            answer = at._once(method, path, body, _time_for(method, path, body))
        except AgentError as error:
            if error.status == 0:
                followed.look_again()
            else:
                followed.silent = False
            raise
        followed.silent = False
        return answer

    def _knock(self) -> None:
        """Return whether the agent responds, before a request that may take long."""
        try:
            self._once("GET", "/healthz", None, _KNOCK_WITHIN)
        except AgentError as error:
            if error.status == 0:
                raise

    def _patience(self, body: Json | None) -> float:
        left = _left_until_deadline(body)
        return self.patience if left is None else max(self.patience, min(left, _INSISTS * self.patience))

    def _once(self, method: str, path: str, body: Json | None, within: float) -> bytes:
        what = f"agent {self.url}: {method} {path}"
        try:
            status, content = self._exchange(method, path, body, within)
        except (OSError, HTTPException) as error:
            raise _NoAnswerError(f"{what}: no answer: {why_refused(error, self.trust)}", 0) from error
        if status >= 400:
            kind = _NoAnswerError if status in (429, 503) else AgentError
            reason = _error_message(content)
            raise kind(f"{what}: {status}: {reason}", status, reason)
        return content

    def _exchange(self, method: str, path: str, body: Json | None, within: float) -> tuple[int, bytes]:
        while (kept := self._take_kept()) is not None:
            try:
                return self._over(kept, method, path, body, within)
            except (OSError, HTTPException) as error:
                if isinstance(error, TimeoutError) and error.errno is None:
                    raise  # it took the request and does not answer
                # The agent has ended the connection meanwhile. What it may have done already, it does once.
        made = self._connection()
        try:
            made.connect()
            keep_alive(made.sock)
        except BaseException:
            made.close()
            raise
        return self._over(made, method, path, body, within)

    def _over(
        self, connection: HTTPConnection, method: str, path: str, body: Json | None, within: float
    ) -> tuple[int, bytes]:
        whole = False
        try:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.sock.settimeout(within)
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
            whole = not answer.will_close and self.through is None and len(self._kept) < _MOST_KEPT
            return answer.status, content
        finally:
            if whole:
                self._kept.append((connection, time.monotonic()))
            else:
                connection.close()

    def _take_kept(self) -> HTTPConnection | None:
        while True:
            try:
                connection, since = self._kept.pop()
            except IndexError:
                return None
            if time.monotonic() - since < _KEPT_FOR:
                return connection
            connection.close()

    def _connection(self) -> HTTPConnection:
        if self.through is not None:
            return self.through(_ANSWER_WITHIN)
        where = urlsplit(self.url)
        return AgentConnection(where.hostname or "", where.port, _CONNECT_WITHIN, self.trust)


def _time_for(method: str, path: str, body: Json | None) -> float:
    if method == "GET":
        return _DUMP_WITHIN if path.endswith("/dump") else _ANSWER_WITHIN
    left = _left_until_deadline(body)
    return _ACT_WITHIN if left is None else max(_ACT_WITHIN, min(left, _INJECT_WITHIN))


def _left_until_deadline(body: Json | None) -> float | None:
    if body is None or "deadline" not in body:
        return None
    return (datetime.fromisoformat(body["deadline"]) - datetime.now(UTC)).total_seconds()


def _error_message(content: bytes) -> str:
    try:
        found = json.loads(content)
        parts = [str(found["error"])]
        parts += [f"{name} {found[name]}" for name in ("expected", "found") if found.get(name)]
        return "; ".join(parts)
    except (ValueError, KeyError, TypeError, RecursionError):
        return content[:300].decode(errors="replace")


@dataclass(frozen=True)
class AgentSettings:
    """Where agents are and how to speak to them, from the environment of the operator and the runner alike."""

    namespace: str
    selector: str = "app.kubernetes.io/name=highwater,app.kubernetes.io/component=agent"
    token_file: Path | None = None
    port: int = AGENT_PORT
    trust: Trust = field(default_factory=Trust)
    patience: float = 10.0

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> AgentSettings:
        """``HIGHWATER_AGENT_NAMESPACE``, ``…_SELECTOR``, ``…_TOKEN_FILE``, ``…_PORT``, ``…_CA``, ``…_SERVER_NAME``."""
        token, authority = environment.get("HIGHWATER_AGENT_TOKEN_FILE"), environment.get("HIGHWATER_AGENT_CA")
        return cls(
            namespace=environment.get("HIGHWATER_AGENT_NAMESPACE") or environment.get("POD_NAMESPACE", "highwater"),
            selector=environment.get("HIGHWATER_AGENT_SELECTOR") or cls.selector,
            token_file=Path(token) if token else None,
            port=int(environment.get("HIGHWATER_AGENT_PORT", AGENT_PORT)),
            trust=Trust(
                Path(authority) if authority else None, environment.get("HIGHWATER_AGENT_SERVER_NAME") or SERVER_NAME
            ),
        )

    @property
    def labels(self) -> dict[str, str]:
        """The selector, taken apart."""
        return dict(part.split("=", 1) for part in self.selector.split(","))

    def client(self, pod: Json) -> AgentClient | None:
        """The agent that runs in this pod (a manifest); None while it has no address."""
        address = (pod.get("status") or {}).get("podIP")
        if not address:
            return None
        port = self.port_of(pod)
        host = f"[{address}]" if ":" in address else address
        token = "" if self.token_file is None else self.token_file.read_text().strip()
        return AgentClient(f"https://{host}:{port}", token, self.trust, self.patience)

    def port_of(self, pod: Json) -> int:
        """Where the agent in this pod listens."""
        return int((pod["metadata"].get("annotations") or {}).get("highwater.dev/agent-port", self.port))

    def clients(self, pods: list[Json]) -> dict[str, AgentClient]:
        """Agents by the name of their node."""
        found: dict[str, AgentClient] = {}
        for pod in pods:
            client, node = self.client(pod), (pod.get("spec") or {}).get("nodeName")
            ended = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
            if client is not None and node and not ended and not pod["metadata"].get("deletionTimestamp"):
                found[node] = client
        return found
