"""The Python package as pip installs it: not from the tree, and without it."""

import os
import subprocess
import sys
from pathlib import Path

from lib.packagetest.steps import PackageError, call, check_files

# As pip leaves it: nothing of the tree is there but what the package brought.
TRY = """
import sys
from pathlib import Path
import pgshuttle
from pgshuttle.cluster import proxy
assert Path(pgshuttle.__file__).is_relative_to(sys.argv[1]), pgshuttle.__file__
program = proxy.compile_proxy(Path(sys.argv[1]))
assert program.exists()
"""


LIST_COMMANDS = """
import typer
from pgshuttle.commands.cli import app
def walk(words, command):
    print(*words)
    for name, below in getattr(command, "commands", {}).items():
        walk([*words, name], below)
walk([], typer.main.get_command(app))
"""
FIND_PACKAGE = """
from pathlib import Path
import pgshuttle
print(Path(pgshuttle.__file__).parent)
"""
NOT_RUNNING = 3


def test(tree: Path, target: Path) -> None:
    """Installs it with all that it needs, as the documentation says, and asks each command."""
    call([sys.executable, "-m", "venv", target])
    call([target / "bin/pip", "install", "--quiet", "--disable-pip-version-check", tree / "python"])
    tool = target / "bin/pgshuttle"
    call([target / "bin/python", "-c", TRY, target], env={"PGSHUTTLE_DELAY_PROXY": ""})
    check_files(tree, Path(call([target / "bin/python", "-c", FIND_PACKAGE]).strip()))
    version = call([tree / "tools/version"]).strip()
    printed = call([tool, "--version"]).strip()
    if printed != f"pgshuttle {version}":
        raise PackageError(f"pgshuttle --version prints {printed!r}, not {version}")
    for line in call([target / "bin/python", "-c", LIST_COMMANDS]).splitlines():
        text = call([tool, *line.split(), "--help"])
        if f"Usage: pgshuttle {line}" not in text:
            raise PackageError(f"pgshuttle {line} --help prints:\n{text}")
    for shell in ("bash", "zsh", "fish"):
        script = call([tool, "--show-completion", shell])
        if "_PGSHUTTLE_COMPLETE" not in script:
            raise PackageError(f"the completion for {shell} is:\n{script}")
    asked = {
        "_PGSHUTTLE_COMPLETE": "complete_bash",
        "COMP_WORDS": "pgshuttle exp",
        "COMP_CWORD": "1",
    }
    if call([tool], env=asked).split() != ["explain"]:
        raise PackageError('pgshuttle does not complete "exp" to "explain"')
    nowhere = {"SHUTTLE_CACHE": str(target / "cache")}
    command = [str(tool), "status", "--json"]
    done = subprocess.run(command, env={**os.environ, **nowhere}, capture_output=True, check=False)
    if done.returncode != NOT_RUNNING or done.stdout or b"pgshuttle up" not in done.stderr:
        raise PackageError(f"pgshuttle status --json without a cluster: {done}")
