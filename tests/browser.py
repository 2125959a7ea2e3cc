"""Pages in a real browser: headless Chromium, driven by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websocket import WebSocket, create_connection

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_PATIENCE = 60.0
_KEYS = {"ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27, "Tab": 9, " ": 32}


class Page:
    """One tab. ``errors``: what its console complained about, the browser's own complaints included."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._number = 0
        self._events: list[dict[str, Any]] = []
        self.errors: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._took(message)

    def _took(self, message: dict[str, Any]) -> None:
        self._events.append(message)
        match message["method"], message["params"]:
            case "Runtime.exceptionThrown", told:
                details = told["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            case "Log.entryAdded", told if told["entry"]["level"] == "error":
                self.errors.append(told["entry"]["text"])

    def open(self, path: Path) -> None:
        """Load a file and wait until it is painted."""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self._events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._took(json.loads(self._socket.recv()))
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is awaited."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def text(self, selector: str) -> str:
        found: str = self.run(f"document.querySelector({json.dumps(selector)}).textContent")
        return found

    def place_of(self, selector: str, share: float = 0.5) -> tuple[float, float]:
        """Scroll an element into view; return where in the window a ``share`` of its width is."""
        box = self.run(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            " one.scrollIntoView({block: 'center', behavior: 'instant'}); const box = one.getBoundingClientRect();"
            " return [box.x, box.y, box.width, box.height] })()"
        )
        return box[0] + box[2] * share, box[1] + box[3] / 2

    def click(self, selector: str) -> None:
        x, y = self.place_of(selector)
        self.drag((x, y), (x, y))

    def hover(self, x: float, y: float) -> None:
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        mouse = {"button": "left", "clickCount": 1}
        self.hover(*start)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **mouse)
        if start != end:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=end[0], y=end[1], button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **mouse)

    def press(self, key: str, *, shift: bool = False) -> None:
        typed = {"key": key, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": _KEYS.get(key, 0)}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **typed, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **typed)

    def look(self, *, width: int, height: int, dark: bool = False) -> None:
        """Set the window's size and the system's theme."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def first_paint(self) -> float:
        """Milliseconds from the navigation to the first content on the screen."""
        found: float = self.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        return found


@contextmanager
def browser() -> Iterator[Page]:
    """A new Chromium with one tab, ended with the block."""
    assert CHROMIUM is not None, "there is no Chromium"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
        command += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
        process = subprocess.Popen(
            [*command, "--remote-debugging-port=0", f"--user-data-dir={home}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            socket = create_connection(_tab(process, Path(home)), timeout=_PATIENCE, suppress_origin=True)
            try:
                yield Page(socket)
            finally:
                socket.close()
        finally:
            process.terminate()
            process.wait(timeout=_PATIENCE)


def _tab(process: subprocess.Popen[bytes], home: Path) -> str:
    """The address of the tab, once the browser has one."""
    deadline, file = time.monotonic() + _PATIENCE, home / "DevToolsActivePort"
    while time.monotonic() < deadline and process.poll() is None:
        if file.exists() and file.read_text("utf-8"):
            port = file.read_text("utf-8").split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=_PATIENCE) as answer:
                tabs = [one for one in json.load(answer) if one["type"] == "page"]
            if tabs:
                found: str = tabs[0]["webSocketDebuggerUrl"]
                return found
        time.sleep(0.05)
    raise AssertionError(f"Chromium has no tab (exit status {process.poll()})")
