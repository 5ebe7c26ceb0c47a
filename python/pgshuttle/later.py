"""Loading modules when they are first used.

Drawing takes matplotlib, which takes longer to load than most commands run, and
which a machine may lack on which nothing is drawn.
"""

import importlib.util
import sys

from pgshuttle.errors import ExitCode, ToolError

DRAWING = (
    "pgshuttle.plot",
    "pgshuttle.choice_report",
    "pgshuttle.plan_report",
    "pgshuttle.scans_report",
    "pgshuttle.star_report",
    "pgshuttle.grid_report",
    "pgshuttle.tpch_report",
    "pgshuttle.transfer_report",
    "pgshuttle.writes_report",
)


def load_later(*names: str) -> None:
    """Has modules run at the first use of anything in them."""
    for name in names:
        spec = importlib.util.find_spec(name)
        if name in sys.modules or spec is None or spec.loader is None:
            continue
        loader = importlib.util.LazyLoader(spec.loader)
        spec.loader = loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
        # "from package import module" looks here first, and looking into
        # sys.modules would be a use
        package, _, last = name.rpartition(".")
        setattr(sys.modules[package], last, module)


def explain_missing(error: ModuleNotFoundError) -> ToolError:
    """Turns a library that is not installed into a message."""
    return ToolError(
        f'the Python package "{error.name}" is missing',
        hint=f"Install it: pip install {error.name}, or on Debian "
        f"apt-get install python3-{error.name}.",
        exit_code=ExitCode.NOT_INSTALLED,
    )
