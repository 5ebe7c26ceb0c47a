"""docs/settings.md lists every setting with its initial value, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNITS = {
    "fetch_size_limit": "1MB",
    "fetch_ahead": "8MB",
    "write_buffer_size": "4MB",
    "idle_timeout": "10min",
    "commit_wait": "5s",
    "deadlock_timeout": "1s",
    "recovery_interval": "5s",
}


def defined_settings() -> dict[str, str]:
    source = (ROOT / "src/base/settings.c").read_text()
    entries = re.findall(r'\.name = "shuttle\.(\w+)".*?\.initial = (\w+)', source, re.DOTALL)
    words = {"true": "on", "false": "off"}
    return {name: UNITS.get(name, words.get(value, value)) for name, value in entries}


def documented_settings() -> dict[str, str]:
    page = (ROOT / "docs/settings.md").read_text()
    return dict(re.findall(r"^\| `shuttle\.(\w+)` \| `([^`]+)` \|", page, re.MULTILINE))


def test_every_setting_is_documented_with_its_default() -> None:
    assert documented_settings() == defined_settings()


def test_something_was_found() -> None:
    assert "batch_size" in defined_settings()
    assert "explain_dist" in defined_settings()
