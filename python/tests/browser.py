"""Chromium without a screen, driven by its DevTools protocol over two pipes."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
START_S = 60.0
LIMIT_S = 30.0
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowRight": 39}


class Browser:
    """One page of a browser."""

    def __init__(self, to: int, back: int) -> None:
        self._to = to
        self._back = back
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        """Sends a command and waits for its answer; what else is said is looked at by the way."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                found: dict[str, Any] = answer["result"]
                return found
            self._listen(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._back, 1 << 20)
            assert data, "the browser has ended"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def _listen(self, event: dict[str, Any]) -> None:
        """Keeps errors of scripts, and what the content security policy has refused."""
        if event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(str(event["params"]["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.complaints.append(str(event["params"]["entry"]["text"]))

    def show(self, address: str, width: int, height: int = 900, scheme: str = "light") -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self.ask("Page.navigate", url=address)

    def run(self, script: str) -> Any:  # noqa: ANN401  (whatever the script gives)
        found = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script: str, limit_s: float = LIMIT_S) -> float:
        """Waits until a script gives something true; returns how long that took."""
        start_s = time.monotonic()
        while not self.run(script):
            waited_s = time.monotonic() - start_s
            assert waited_s < limit_s, f"{script}: not within {limit_s} s"
            time.sleep(0.05)
        return time.monotonic() - start_s

    def press(self, key: str) -> None:
        pressed: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        if len(key) == 1:
            pressed["text"] = key
        elif key == "Enter":
            pressed["text"] = "\r"
        self.ask("Input.dispatchKeyEvent", type="keyDown", **pressed)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def photograph(self, path: Path, *, whole: bool = False) -> None:
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))


@contextmanager
def open_browser(directory: Path) -> Iterator[Browser]:
    """Starts a browser with a profile in this directory; it ends with the test."""
    here, theirs = ([fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in os.pipe()] for _ in "12")
    # Chromium reads from 3 and writes to 4.
    command = ["bash", "-c", f'exec "$0" "$@" 3<&{here[0]} 4>&{theirs[1]}', str(CHROMIUM)]
    command += [*OPTIONS, f"--user-data-dir={directory}/profile", "about:blank"]
    passed = (here[0], theirs[1])
    with subprocess.Popen(command, pass_fds=passed, stderr=subprocess.DEVNULL) as process:
        os.close(here[0])
        os.close(theirs[1])
        try:
            yield Browser(here[1], theirs[0])
        finally:
            process.terminate()
            process.wait(START_S)
            os.close(here[1])
            os.close(theirs[0])
