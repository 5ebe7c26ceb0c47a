"""What pgshuttle up tells to try."""

import shutil
import sys
from pathlib import Path

from pgshuttle.base.screen import Screen

QUERY = "SELECT i, name FROM generate_series(1, 500) i JOIN product ON id = i * 7"
# DIR stands for the option that names the cluster, where one is needed
STEPS = """\
Connect:
  psql "DSN"
  or: pgshuttle psqlDIR
Try, a line at a time:
  pgshuttle doctorDIR
  pgshuttle psqlDIR node1 -- -c "CREATE TABLE product (id int PRIMARY KEY, name text)"
  pgshuttle psqlDIR node1 -- -c "INSERT INTO product SELECT i, 'no ' || i FROM generate_series(1, 100000) i"
  pgshuttle psqlDIR -- -c "IMPORT FOREIGN SCHEMA public FROM SERVER node1 INTO public"
  pgshuttle psqlDIR -- -c "ANALYZE product"
  pgshuttle rttDIR 10
  pgshuttle explainDIR "QUERY"
  pgshuttle explainDIR --set shuttle.enable_batched_join=off "QUERY"
Spread a table over the nodes:
  pgshuttle psqlDIR -- -c "CREATE TABLE item AS SELECT i AS id, 'no ' || i AS name FROM generate_series(1, 100000) i"
  pgshuttle psqlDIR -- -c "ALTER TABLE item ADD PRIMARY KEY (id)"
  pgshuttle distributeDIR item.id --yes
  pgshuttle tablesDIR
End:
  pgshuttle downDIR --remove"""  # noqa: E501


HA_STEPS = """\
Connect:
  psql "DSN"
  or: pgshuttle psqlDIR
Pull a plug:
  pgshuttle ha listDIR
  pgshuttle ha switchoverDIR node1
  pgshuttle ha killDIR node1
  pgshuttle ha freezeDIR node2
  pgshuttle ha startDIR
End:
  pgshuttle downDIR --remove"""


def tell(screen: Screen, text: str, dsn: str, directory: Path | None) -> None:
    """Tells how to connect and what to try. directory: as the user named it."""
    option = "" if directory is None else f" --dir {directory}"
    steps = text.replace("DIR", option).replace("DSN", dsn).replace("QUERY", QUERY)
    if not shutil.which("pgshuttle"):
        steps = steps.replace("pgshuttle ", f"{sys.argv[0]} ")
    screen.out.print(steps, highlight=False, soft_wrap=True)
