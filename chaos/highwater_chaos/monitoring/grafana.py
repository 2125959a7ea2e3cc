"""Faults and verdicts as annotations in a Grafana, by its HTTP API.

``POST /api/annotations`` when a fault is in force, ``PATCH`` with its end when it is seen to be gone. A thread of its
own talks to Grafana, so that a slow one does not hold up a run. A Grafana that does not take an annotation does not
fail a run either: that is said once. The token is sent to it, and shown nowhere.
"""

from __future__ import annotations

import json
import queue
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from types import TracebackType
from typing import Any, Final, Self

from highwater_chaos.faults import FaultRecord
from highwater_chaos.run.live import LiveRun

_SECONDS: Final = 5.0
"""How long a request may take."""
_END_SECONDS: Final = 15.0
"""How long what is left may take at the end."""
_MOST_WAITING: Final = 1_000
_LARGEST: Final = 100_000
_TURN_SECONDS: Final = 0.25


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Annotations:
    """What goes to one Grafana. ``url``: where it is, without ``/api``; ``say`` is given one sentence if it fails."""

    def __init__(self, url: str, token: str | None, say: Callable[[str], None]) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._say = say
        self._waiting: queue.Queue[Callable[[], None] | None] = queue.Queue(_MOST_WAITING)
        self._failed = threading.Event()
        self._run: LiveRun | None = None
        self._seen: dict[str, str] = {}
        self._ids: dict[tuple[str, str], int] = {}
        """Ids that Grafana gave, by the key of the run and the fault's id. Of the thread alone."""
        self._runs = 0
        self._next_turn = 0.0
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._thread = threading.Thread(target=self._work, name="grafana", daemon=True)
        self._thread.start()

    def turn(self, run: LiveRun) -> None:
        """Look at the run's faults, unless that was a moment ago. Called very often."""
        now = time.monotonic()
        if run is self._run and now < self._next_turn:
            return
        self._next_turn = now + _TURN_SECONDS
        self._look(run)

    def judged(self, verdict: Mapping[str, Any]) -> None:
        """Annotate the verdict of the run that was turned last (the content of ``verdict.json``)."""
        run = self._run
        if run is None:
            return
        self._look(run)
        expected = "as expected" if verdict["asExpected"] else f"not as expected: {verdict['expected']['whyNot']}"
        text = f"{verdict['name']}: {verdict['verdict']}, {expected}"
        body = {
            "time": time.time_ns() // 1_000_000,
            "tags": [*_tags(run), "verdict", verdict["verdict"]],
            "text": text[:1_000],
        }
        self._later(lambda: self._post(None, body))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            self._fail("it is too slow")
        self._thread.join(_END_SECONDS)
        if self._thread.is_alive():
            self._fail(f"it did not take what was left within {_END_SECONDS:.0f} s")

    def _look(self, run: LiveRun) -> None:
        if run is not self._run:
            self._run, self._seen, self._runs = run, {}, self._runs + 1
        for fault in run.faults:
            if fault.injected_ns is None or self._seen.get(fault.id) == "healed":
                continue
            key = (str(self._runs), fault.id)
            if fault.id not in self._seen:
                self._seen[fault.id] = "injected"
                body = {
                    "time": _unix_ms(run, fault.injected_ns),
                    "tags": [*_tags(run), "fault", fault.kind],
                    "text": _text(fault),
                }
                self._later(lambda key=key, body=body: self._post(key, body))  # type: ignore[misc]
            if fault.healed_ns is not None:
                self._seen[fault.id] = "healed"
                end = _unix_ms(run, fault.healed_ns)
                self._later(lambda key=key, end=end: self._end(key, end))  # type: ignore[misc]

    def _later(self, work: Callable[[], None]) -> None:
        if self._failed.is_set():
            return
        try:
            self._waiting.put_nowait(work)
        except queue.Full:
            self._fail("it is too slow")

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            if self._failed.is_set():
                continue
            try:
                work()
            except urllib.error.HTTPError as error:
                with error:
                    self._fail(f"{error.code} {error.reason}")
            except (OSError, HTTPException, ValueError) as error:
                self._fail(str(getattr(error, "reason", None) or error))

    def _post(self, key: tuple[str, str] | None, body: Mapping[str, Any]) -> None:
        found = self._request("POST", "/api/annotations", body)
        number = found.get("id") if isinstance(found, dict) else None
        if not isinstance(number, int):
            raise ValueError("its answer has no id: is this a Grafana?")
        if key is not None:
            self._ids[key] = number

    def _end(self, key: tuple[str, str], end_ms: int) -> None:
        if (number := self._ids.pop(key, None)) is not None:
            self._request("PATCH", f"/api/annotations/{number}", {"timeEnd": end_ms})

    def _request(self, method: str, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(  # noqa: S310 - the URL has been checked
            self._url + path,
            data=json.dumps(body).encode(),
            method=method,
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        with self._opener.open(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read(_LARGEST))

    def _fail(self, why: str) -> None:
        if not self._failed.is_set():
            self._failed.set()
            if self._token:
                why = why.replace(self._token, "…")
            self._say(f"no annotations in Grafana any more, the run goes on: {self._url}: {why}")


def grafana_url(text: str) -> str:
    """Return a URL that can be asked. Raises ``ValueError``: it is none, or carries a password."""
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("expected the URL of a Grafana, such as https://grafana.example.org")
    if parts.username is not None or parts.password is not None:
        raise ValueError("expected a URL without user and password; a token goes into HIGHWATER_GRAFANA_TOKEN")
    return text


def _unix_ms(run: LiveRun, at_ns: int) -> int:
    """Run time as wall-clock time; what is long ago in the simulator's time counts as long ago."""
    return (time.time_ns() - max(0, run.now_ns() - at_ns)) // 1_000_000


def _tags(run: LiveRun) -> list[str]:
    return ["highwater", run.experiment.metadata.name]


def _text(fault: FaultRecord) -> str:
    name = f"{fault.name}: " if fault.name else ""
    return f"{name}{fault.kind} {', '.join(fault.targets)}"[:1_000]
