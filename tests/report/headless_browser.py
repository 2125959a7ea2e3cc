"""A headless Chromium that opens pages of files, over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed
from websocket import WebSocket, create_connection

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
"""Where the browser is; None: there is none."""

POOR_CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = text => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = color => {
    const linear = one => one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4;
    const [r, g, b] = color.map(one => linear(one / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ratio = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + .05) / (low + .05);
  };
  const backdrop = element => {
    const found = [];
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (one instanceof HTMLElement) found.push(rgba(style.backgroundColor));
      const rect = one.matches('svg.s') ? one.querySelector('rect') : null;
      if (rect) found.push(rgba(getComputedStyle(rect).fill));
    }
    return found.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(one => one.nodeType === 3 && one.data.trim());
    const hidden = ['SCRIPT', 'STYLE', 'title'].includes(element.tagName) || !element.checkVisibility();
    if (!own || hidden) continue;
    const style = getComputedStyle(element), below = backdrop(element);
    const color = over(rgba(element instanceof SVGElement ? style.fill : style.color), below);
    if (ratio(color, below) < 4.5) poor.push(`${element.textContent}: ${ratio(color, below).toFixed(2)}`);
  }
  return poor;
})()
"""
"""A script that returns each text whose contrast is below 4.5, with its contrast."""


class Tab:
    """One page. What its console reports as errors, and exceptions of its script, are in ``complaints``; URLs that it
    asked for in ``requests``, and those that it got in ``responses``."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._last = 0
        self._events: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.responses: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def forget(self) -> None:
        """Forget what was complained of and asked for."""
        for found in (self.complaints, self.requests, self.responses):
            found.clear()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser and return what it answers."""
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._last:
                assert "error" not in message, message
                return message["result"]
            self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        self._events.append(message)
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(message["params"]["exceptionDetails"])[:600])
            case "Log.entryAdded" if message["params"]["entry"]["level"] == "error":
                self.complaints.append(message["params"]["entry"]["text"])
            case "Network.responseReceived":
                self.responses.append(message["params"]["response"]["url"])
            case "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])

    def open(self, page: Path, *, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        """Open a page and wait until it is loaded and painted."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._take(json.loads(self._socket.recv()))
        self.settle()

    def settle(self) -> None:
        """Wait for two frames."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def value(self, expression: str) -> Any:
        """Evaluate an expression in the page; a promise is awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """``kind``: mouseMoved, mousePressed, mouseReleased, mouseWheel."""
        pressed = {"mousePressed": 1, "mouseReleased": 1}.get(kind, 0)
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **{"clickCount": pressed, **more})

    def key(self, key: str, *, code: int = 0) -> None:
        """Press and release a key; one letter is typed."""
        typed = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.settle()

    def first_paint_ms(self) -> float:
        """From the start of navigation to the first content, by the browser's own entry."""
        return float(
            self.value(
                "new Promise(done => new PerformanceObserver(list => list.getEntriesByName('first-contentful-paint')"
                ".forEach(entry => done(entry.startTime))).observe({type: 'paint', buffered: true}))"
            )
        )

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of what is in sight, or of the whole page."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start a browser with a profile of its own, and yield its tab."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += ["--remote-debugging-port=0", f"--user-data-dir={profile}", "--disable-background-networking"]
    command += ["--remote-allow-origins=*", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port = _port(profile / "DevToolsActivePort")
            with_tab = create_connection(_target(port), timeout=60)
            yield Tab(with_tab)
            with_tab.close()
        finally:
            process.terminate()


@retry(
    retry=retry_if_exception_type((OSError, ValueError, IndexError)), stop=stop_after_delay(60), wait=wait_fixed(0.05)
)
def _port(file: Path) -> int:
    return int(file.read_text().splitlines()[0])


def _target(port: int) -> str:
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=60) as answer:
        (page, *_) = [one for one in json.load(answer) if one["type"] == "page"]
    return str(page["webSocketDebuggerUrl"])
