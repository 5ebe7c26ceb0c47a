"""Where things lie: the source tree, the cache, the directory of a cluster."""

import os
import tempfile
from pathlib import Path

from pgshuttle.base.errors import ExitCode, ToolError
from pgshuttle.cluster import processes

# the kernel's limit for the path of a unix socket is 107 bytes; the longest
# name that we or PostgreSQL put behind the directory is ".s.PGSQL.65535.lock"
SOCKET_DIR_LIMIT_BYTES = 107 - 20


def source_dir() -> Path | None:
    """Returns the root of the source tree that this package was installed from."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / "tools" / "servers").is_file() else None


def cache_dir() -> Path:
    """Returns the directory for what can be made again; the same as tools/servers uses."""
    named = os.environ.get("SHUTTLE_CACHE")
    if named:
        return Path(named)
    if os.geteuid() == 0:
        return Path("/var/cache/pg_shuttle")
    return Path.home() / ".cache" / "pg_shuttle"


def find_cluster_dir(named: Path | None, otherwise: str = "default") -> Path:
    """Returns where a cluster lies. otherwise: its name, if the user names no directory."""
    return (named or cache_dir() / "clusters" / otherwise).absolute()


def make_readable_dir(path: Path) -> None:
    """Makes a directory that the server's user can reach, or says why it can't."""
    try:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise ToolError(f"{path} is not a directory", exit_code=ExitCode.USAGE) from None
    if processes.server_user() is None:
        return
    try:
        processes.run(["test", "-x", path], timeout_s=10, as_server_user=True)
    except ToolError:
        raise ToolError(
            f'user "{processes.SERVER_USER}" can\'t reach {path}',
            hint="Servers run as that user. Choose another directory with --dir.",
        ) from None


def make_socket_dir(cluster_dir: Path) -> Path:
    """Makes a directory for unix sockets whose path is short enough."""
    path = cluster_dir / "sockets"
    if len(os.fsencode(path)) > SOCKET_DIR_LIMIT_BYTES:
        path = Path(tempfile.mkdtemp(prefix="pgshuttle-", dir="/tmp"))
    path.mkdir(exist_ok=True)
    # anyone may connect, as anyone may on the loopback ports; only the
    # server's user makes sockets here, and root, who runs the proxies
    processes.give_to_server(path)
    path.chmod(0o755)
    return path
