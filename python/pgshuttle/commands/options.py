"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

DsnOption = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        "-d",
        help="Connection string of libpq. Without it: PGHOST and such, or the cluster of up.",
    ),
]
DirOption = Annotated[
    Path | None, typer.Option("--dir", help="Directory of a cluster of pgshuttle up.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ClusterDirOption = Annotated[Path | None, typer.Option("--dir", help="Directory of the cluster.")]
PgOption = Annotated[
    str | None,
    typer.Option("--pg", help="Server: 15, 18, 18-plain, or the path of a pg_config."),
]
ResultsOption = Annotated[Path, typer.Option("--results", help="Directory for what is measured.")]
CheckOption = Annotated[bool, typer.Option("--check", help="Fail if a target is missed.")]
KeepOption = Annotated[bool, typer.Option("--keep", help="Leave the cluster running.")]
