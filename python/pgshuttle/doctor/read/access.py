"""What pgshuttle doctor finds out about privileges and row security on nodes.

Privileges are read as nodes keep them: a function that tells them is not to be had there by a
foreign table. What counts is what the roles have that the remote user has the rights of.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from pgshuttle.base.connections import Connection, read_rows
from pgshuttle.doctor.facts import AccessFacts, RelationFacts

# catalogs of the node that are read besides those of relations, and their columns
NODE_TABLES = (
    ("pg_roles", "pg_roles", "oid oid, rolname text, rolsuper bool, rolbypassrls bool"),
    ("pg_enabled", "information_schema.enabled_roles", "role_name text"),
    (
        "pg_policies",
        "pg_policies",
        "schemaname text, tablename text, permissive text, roles text[], cmd text, qual text, "
        "with_check text",
    ),
    ("pg_attrdef", "pg_attrdef", "oid oid, adrelid oid, adnum int2"),
    ("pg_depend", "pg_depend", "classid oid, objid oid, refclassid oid, refobjid oid"),
)

USER = """
SELECT coalesce((SELECT o.option_value FROM pg_options_to_table(m.umoptions) o
                 WHERE o.option_name = 'user'), '')
FROM pg_user_mappings m
WHERE m.srvname = %s AND (m.umuser = 0 OR m.usename = current_user)
ORDER BY m.umuser = 0
"""

ROLES = """
SELECT r.rolname, r.rolsuper, r.rolbypassrls
FROM pg_temp.node_pg_roles r JOIN pg_temp.node_pg_enabled e ON e.role_name = r.rolname
"""

RELATIONS = """
SELECT c.oid, c.relacl, o.rolname, n.nspacl, p.rolname,
    c.relrowsecurity, c.relforcerowsecurity
FROM pg_temp.node_pg_class c
    JOIN pg_temp.node_pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_temp.node_pg_roles o ON o.oid = c.relowner
    JOIN pg_temp.node_pg_roles p ON p.oid = n.nspowner
WHERE c.oid = ANY (%s) AND c.relkind <> 'S'
"""

COLUMNS = """
SELECT a.attrelid, a.attname, a.attacl FROM pg_temp.node_pg_attribute a
WHERE a.attrelid = ANY (%s) AND a.attacl IS NOT NULL
"""

# that defaults of columns take values from
SEQUENCES = """
SELECT d.adrelid, a.attname, format('%%I.%%I', n.nspname, s.relname), s.relacl, o.rolname
FROM pg_temp.node_pg_attrdef d
    JOIN pg_temp.node_pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    JOIN pg_temp.node_pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
        AND p.refclassid = 'pg_class'::regclass
    JOIN pg_temp.node_pg_class s ON s.oid = p.refobjid AND s.relkind = 'S'
    JOIN pg_temp.node_pg_namespace n ON n.oid = s.relnamespace
    JOIN pg_temp.node_pg_roles o ON o.oid = s.relowner
WHERE d.adrelid = ANY (%s)
"""

POLICIES = """
SELECT schemaname, tablename, permissive = 'PERMISSIVE',
    cmd = 'ALL' AND qual = 'true' AND coalesce(with_check, 'true') = 'true', roles
FROM pg_temp.node_pg_policies WHERE schemaname = ANY (%s) AND tablename = ANY (%s)
"""

# what this user may do: with partitions by way of their table; and columns that nodes fill
WANTED = """
SELECT c.oid, a.attname,
    ARRAY[has_column_privilege(r.oid, a.attname, 'SELECT'),
          u.events & 8 > 0 AND a.attgenerated = ''
              AND has_column_privilege(r.oid, a.attname, 'INSERT'),
          u.events & 4 > 0 AND a.attgenerated = ''
              AND has_column_privilege(r.oid, a.attname, 'UPDATE'),
          u.events & 16 > 0 AND has_table_privilege(r.oid, 'DELETE')],
    EXISTS (SELECT FROM pg_foreign_table t, pg_options_to_table(t.ftoptions || a.attfdwoptions) o
            WHERE t.ftrelid = c.oid AND o.option_name = 'shuttle_remote_default')
FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,
    LATERAL (SELECT coalesce(pg_partition_root(c.oid)::oid, c.oid)) r(oid),
    LATERAL (SELECT pg_relation_is_updatable(c.oid, false)) u(events)
WHERE c.oid = ANY (%s)
"""

PRIVILEGES = {"SELECT": "r", "INSERT": "a", "UPDATE": "w", "DELETE": "d"}
# roles whose members may do something with all relations
PREDEFINED = {"pg_read_all_data": "rU", "pg_write_all_data": "awdU"}
ITEM = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^"=]*))=(?P<letters>[a-zA-Z*]*)/.*')

Acl = list[str] | None


@dataclass(frozen=True)
class Roles:
    """The roles that the remote user has the rights of."""

    names: set[str]
    is_superuser: bool
    bypasses: bool  # row security

    def may(self, letter: str, acl: Acl, owner: str = "") -> bool:
        """Says if a list of privileges gives one to them. owner: who has all without a list."""
        if self.is_superuser or any(letter in PREDEFINED.get(name, "") for name in self.names):
            return True
        if acl is None:
            return owner in self.names
        for item in acl:
            found = ITEM.fullmatch(item)
            if found is not None and letter in found["letters"]:
                name = (found["quoted"] or "").replace('""', '"') or found["plain"]
                if not name or name in self.names:  # PUBLIC has no name
                    return True
        return False


def read_roles(connection: Connection) -> Roles:
    rows = read_rows(connection, ROLES)
    return Roles(
        {name for name, _, _ in rows},
        any(is_superuser for _, is_superuser, _ in rows),
        any(bypasses for _, _, bypasses in rows),
    )


def read_user(connection: Connection, server: str) -> str:
    """The name of the remote user; empty: not known."""
    found = read_rows(connection, USER, server)
    return str(found[0][0]) if found else ""


def find_lacks(
    relation: RelationFacts,
    may: Callable[[str, str], bool],
    wanted: dict[str, list[bool]],
) -> dict[str, list[str]]:
    """Privileges that are wanted and not there. may: for a letter and a column; none: for all."""
    lacks = {}
    there = {column.name for column in relation.there or []}
    columns = [own for own in relation.columns if own.remote_name in there]
    for number, (privilege, letter) in enumerate(PRIVILEGES.items()):
        missing = [
            own.remote_name
            for own in columns
            if wanted[own.name][number] and not may(letter, own.remote_name)
        ]
        if missing:
            is_whole = privilege == "DELETE" or len(missing) == len(columns)
            lacks[privilege] = [] if is_whole else missing
    return lacks


def read_hidden(
    connection: Connection, schemas: list[str], names: list[str], roles: Roles
) -> Callable[[tuple[str, str]], bool]:
    """Says if policies hide rows of a relation with row security, by its schema and name."""
    opened, restricted = set(), set()
    for schema, name, is_permissive, is_open, names_of_roles in read_rows(
        connection, POLICIES, schemas, names
    ):
        if roles.names & set(names_of_roles) or "public" in names_of_roles:
            if is_permissive and is_open:
                opened.add((schema, name))
            elif not is_permissive:
                restricted.add((schema, name))
    return lambda relation: relation not in opened or relation in restricted


def read_wanted(
    connection: Connection, oids: list[int]
) -> tuple[dict[int, dict[str, list[bool]]], dict[int, set[str]]]:
    """What this user may do with columns of foreign tables, and those that nodes fill."""
    wanted: dict[int, dict[str, list[bool]]] = defaultdict(dict)
    filled = defaultdict(set)
    for oid, column, rights, is_filled in read_rows(connection, WANTED, oids):
        wanted[oid][column] = rights
        if is_filled:
            filled[oid].add(column)
    return wanted, filled


def read_access(connection: Connection, found: list[tuple[int, int, RelationFacts]]) -> None:
    """Notes what the remote user may not do. found: with OIDs here and there."""
    roles = read_roles(connection)
    if roles.is_superuser or not found:
        return
    wanted, filled = read_wanted(connection, [oid for oid, _, _ in found])
    others = [other for _, other, _ in found]
    schemas, names = (sorted({relation.remote[i] for _, _, relation in found}) for i in (0, 1))
    are_hidden = read_hidden(connection, schemas, names, roles)
    columns: dict[int, dict[str, Acl]] = defaultdict(dict)
    for other, column, acl in read_rows(connection, COLUMNS, others):
        columns[other][column] = acl
    sequences = defaultdict(list)
    for other, column, sequence, acl, owner in read_rows(connection, SEQUENCES, others):
        if not (roles.may("U", acl, owner) or roles.may("w", acl, owner)):
            sequences[other].append((column, sequence))
    rights = {other: row for other, *row in read_rows(connection, RELATIONS, others)}
    for oid, other, relation in found:
        if other not in rights:
            continue
        acl, owner, schema_acl, schema_owner, has_security, is_forced = rights[other]

        def may(
            letter: str, column: str, acl: Acl = acl, owner: str = owner, key: int = other
        ) -> bool:
            return roles.may(letter, acl, owner) or roles.may(letter, columns[key].get(column, []))

        mine = {own.remote_name for own in relation.columns if own.name not in filled[oid]}
        relation.access = AccessFacts(
            find_lacks(relation, may, wanted[oid]),
            may_write=any(may(letter, "") for letter in "awd"),
            has_schema=roles.may("U", schema_acl, schema_owner),
            hides_rows=has_security
            and not roles.bypasses
            and (owner not in roles.names or is_forced)
            and are_hidden(relation.remote),
            sequences=[name for column, name in sequences[other] if column not in mine],
        )
