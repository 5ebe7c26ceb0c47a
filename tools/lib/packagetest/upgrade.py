"""Upgrades: what ALTER EXTENSION makes of a release is what CREATE EXTENSION makes anew.

The present state is taken as released and an invented version follows it, so
that this runs, and tools/version with it, before there is a second release.
"""

import shutil
from pathlib import Path

from lib.packagetest.debian import psql
from lib.packagetest.steps import PackageError, call
from lib.testrun.cluster import Cluster

NEXT = "999.0.0"
PLANT = "CREATE FUNCTION shuttle.planted() RETURNS int LANGUAGE sql AS 'SELECT 1';\n"

# Everything that the extension owns, as text, without oids and places.
CATALOG = """
SELECT pg_describe_object(d.classid, d.objid, 0) AS object,
    CASE d.classid
    WHEN 'pg_proc'::regclass THEN
        (SELECT concat_ws(' ', CASE prokind
                WHEN 'a' THEN
                    (SELECT concat_ws(' ', aggtransfn, aggfinalfn, aggcombinefn, aggserialfn,
                                      aggdeserialfn, format_type(aggtranstype, NULL), agginitval)
                     FROM pg_aggregate WHERE aggfnoid = pg_proc.oid)
                ELSE pg_get_functiondef(oid) END, proacl)
         FROM pg_proc WHERE oid = d.objid)
    WHEN 'pg_class'::regclass THEN
        (SELECT concat_ws(' ', relkind, relacl, pg_get_viewdef(oid), oid = ANY (x.extconfig))
         FROM pg_class WHERE oid = d.objid)
    WHEN 'pg_foreign_data_wrapper'::regclass THEN
        (SELECT concat_ws(' ', fdwhandler::regproc, fdwvalidator::regproc, fdwacl)
         FROM pg_foreign_data_wrapper WHERE oid = d.objid)
    END AS definition,
    (SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull),
                       ', ' ORDER BY attnum)
     FROM pg_attribute
     WHERE d.classid = 'pg_class'::regclass AND attrelid = d.objid
         AND attnum > 0 AND NOT attisdropped) AS columns,
    (SELECT string_agg(pg_get_constraintdef(oid), ', ' ORDER BY conname)
     FROM pg_constraint
     WHERE d.classid = 'pg_class'::regclass AND conrelid = d.objid) AS constraints,
    obj_description(d.objid, d.classid::regclass::name) AS comment
FROM pg_depend d
    JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid
WHERE x.extname = 'pg_shuttle' AND d.deptype = 'e'
ORDER BY 1
"""
FEWEST_LINES = 10  # of the above


def read_catalog(server: Cluster, version: str, update_from: str | None) -> str:
    """Makes the extension in a database of its own, and returns what it owns."""
    first = update_from or version
    statements = [f"CREATE EXTENSION pg_shuttle VERSION '{first}' CASCADE"]
    if update_from is not None:
        statements.append(f"ALTER EXTENSION pg_shuttle UPDATE TO '{version}'")
    psql(server, "-c", "CREATE DATABASE upgrade")
    try:
        for statement in statements:
            psql(server, "-c", statement, database="upgrade")
        return psql(server, "-At", "-c", CATALOG, database="upgrade")
    finally:
        psql(server, "-c", "DROP DATABASE upgrade WITH (FORCE)")


def test(server: Cluster, tree: Path, root: Path) -> None:
    """Upgrades from each release to the next version, and proves that a gap would be seen."""
    current = call([tree / "tools/version"]).strip()
    call([tree / "tools/version", NEXT])
    call([tree / "tools/version", "check"])
    folder = next(root.glob("usr/share/postgresql/*/extension"))
    for script in [*tree.glob("sql/pg_shuttle--*--*.sql"), *tree.glob("test/releases/*.sql")]:
        shutil.copyfile(script, folder / script.name)
    whole = folder / f"pg_shuttle--{NEXT}.sql"
    shutil.copyfile(tree / "sql/pg_shuttle.sql", whole)
    fresh = read_catalog(server, NEXT, None)
    if fresh.count("\n") < FEWEST_LINES:
        raise PackageError(f"the extension owns next to nothing:\n{fresh}")
    releases = [path.stem.split("--")[1] for path in tree.glob("test/releases/*.sql")]
    for release in releases:
        if read_catalog(server, NEXT, release) != fresh:
            raise PackageError(f"an upgrade from {release} differs from a new extension")
    whole.write_text(whole.read_text() + PLANT)
    if read_catalog(server, NEXT, current) == read_catalog(server, NEXT, None):
        raise PackageError("a function that an upgrade lacks was not noticed")
