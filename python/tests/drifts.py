"""Differences between foreign tables and nodes, and what the doctor says of each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Drift:
    """One difference: a table, what changes on a side, what is found, where it is mended."""

    there: str
    here: str
    change: str  # on the node
    found: str  # the beginning of the finding, behind its level
    mended: str  # the statement, or its beginning


FOREIGN = "SERVER node1 OPTIONS (table_name 'thing')"
KEYED = "id int NOT NULL"
PLAIN = f"CREATE FOREIGN TABLE item ({KEYED}, v text {{}}) {FOREIGN}"
THING = "CREATE TABLE thing (id int PRIMARY KEY, v text {})"
TWICE = "w int GENERATED ALWAYS AS (id * {}) STORED"
WITH_TWICE = f"CREATE FOREIGN TABLE item ({KEYED}, v text, {{}}) {FOREIGN}"
PART = """CREATE TABLE item (id int{}, v text{}) PARTITION BY {} (id);
CREATE FOREIGN TABLE item_a PARTITION OF item {} SERVER node1 OPTIONS (table_name 'thing')"""
HASHED = PART.format(" NOT NULL", "", "HASH", "FOR VALUES WITH (MODULUS 4, REMAINDER 1)")
RANGED = PART.format("", "", "RANGE", "FOR VALUES FROM (0) TO (100)")
RANGED_TWICE = f"""CREATE TABLE item (id int NOT NULL, v text, {TWICE.format(2)})
PARTITION BY RANGE (id);
CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES FROM (0) TO (100) {FOREIGN}"""
THING_TWICE = f"CREATE TABLE thing (id int PRIMARY KEY, v text, {TWICE.format(2)})"
HASH_THERE = """CREATE TABLE whole (id int PRIMARY KEY, v text) PARTITION BY HASH (id);
CREATE TABLE thing PARTITION OF whole FOR VALUES WITH (MODULUS 4, REMAINDER 1)"""
RANGE_THERE = """CREATE TABLE whole (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE thing PARTITION OF whole FOR VALUES FROM (0) TO (100)"""
MOVED = "ALTER TABLE whole DETACH PARTITION thing; ALTER TABLE whole ATTACH PARTITION thing "
HERE_TABLE = "Run here: ALTER FOREIGN TABLE item "
THERE_TABLE = "Run on the node: ALTER TABLE public.thing "

DRIFTS = {
    "not_null_plain": Drift(
        THING.format(""),
        PLAIN.format(""),
        "ALTER TABLE thing ALTER v SET NOT NULL",
        "warning: item.v is NOT NULL there only: an INSERT of NULL fails",
        f'{HERE_TABLE}ALTER "v" SET NOT NULL;',
    ),
    "not_null_partition": Drift(
        THING.format(""),
        RANGED,
        "ALTER TABLE thing ALTER v SET NOT NULL",
        "error: item_a.v is NOT NULL there only: an INSERT of NULL fails",
        f'{THERE_TABLE}ALTER "v" DROP NOT NULL;',
    ),
    "not_null_key_of_a_partition": Drift(
        "CREATE TABLE thing (id int UNIQUE, v text)",
        HASHED.replace(" NOT NULL", ""),
        "ALTER TABLE thing DROP CONSTRAINT thing_id_key, ADD PRIMARY KEY (id)",
        "warning: item_a.id is NOT NULL there only",
        'Run here: ALTER TABLE item ALTER "id" SET NOT NULL;',
    ),
    "expression_plain": Drift(
        THING_TWICE,
        WITH_TWICE.format(TWICE.format(2)),
        f"ALTER TABLE thing DROP w, ADD {TWICE.format(3)}",
        "error: item.w is generated as (id * 2) here and as (id * 3) there",
        "Run here: ALTER FOREIGN TABLE item ",
    ),
    "expression_renamed": Drift(
        f"CREATE TABLE thing (v int PRIMARY KEY, id text, {TWICE.format(2).replace('id', 'v')})",
        f"""CREATE FOREIGN TABLE item (id int OPTIONS (column_name 'v') NOT NULL,
            v text OPTIONS (column_name 'id'), "W" int OPTIONS (column_name 'w')
            GENERATED ALWAYS AS (id * 2) STORED) {FOREIGN}""",
        "ALTER TABLE thing DROP w, ADD w int GENERATED ALWAYS AS (v * 3) STORED",
        "error: item.W is generated as (id * 2) here and as (id * 3) there",
        "Run here: ALTER FOREIGN TABLE item ",
    ),
    "expression_partition": Drift(
        THING_TWICE,
        RANGED_TWICE,
        f"ALTER TABLE thing DROP w, ADD {TWICE.format(3)}",
        "error: item_a.w is generated as (id * 2) here and as (id * 3) there",
        THERE_TABLE,
    ),
    "generated_here_only": Drift(
        THING_TWICE,
        WITH_TWICE.format(TWICE.format(2)),
        "ALTER TABLE thing ALTER w DROP EXPRESSION",
        "error: item.w is generated here, and the node does not compute it",
        f'{THERE_TABLE}DROP "w", ADD "w" integer GENERATED ALWAYS AS ((id * 2)) STORED;',
    ),
    "generated_here_only_partition": Drift(
        THING_TWICE,
        RANGED_TWICE,
        "ALTER TABLE thing ALTER w DROP EXPRESSION",
        "error: item_a.w is generated here, and the node does not compute it",
        f'{THERE_TABLE}DROP "w", ADD "w" integer GENERATED ALWAYS AS ((id * 2)) STORED;',
    ),
    "generated_there_only": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text, w int)",
        WITH_TWICE.format("w int"),
        f"ALTER TABLE thing DROP w, ADD {TWICE.format(3)}",
        "error: item.w is generated on the node: statements that write it fail",
        f'{HERE_TABLE}DROP "w", ADD "w" integer GENERATED ALWAYS AS ((id * 3)) STORED;',
    ),
    "generated_there_only_partition": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text)",
        RANGED,
        "ALTER TABLE thing DROP v, ADD v text GENERATED ALWAYS AS ('a') STORED",
        "error: item_a.v is generated on the node: statements that write it fail",
        f'{THERE_TABLE}ALTER "v" DROP EXPRESSION;',
    ),
    "key_became_deferrable": Drift(
        "CREATE TABLE item_a (id int PRIMARY KEY); CREATE TABLE item_b (id int PRIMARY KEY)",
        """CREATE TABLE item (id int NOT NULL) PARTITION BY LIST (id);
        CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES IN (1) SERVER node1;
        CREATE FOREIGN TABLE item_b PARTITION OF item FOR VALUES IN (2) SERVER node1""",
        "ALTER TABLE item_a DROP CONSTRAINT item_a_pkey, ADD PRIMARY KEY (id) DEFERRABLE",
        'error: public.item_a has a deferrable unique key ("id"), which is not deferrable behind',
        'Run on the node: ALTER TABLE public.item_a ADD UNIQUE ("id");',
    ),
    "identity": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text)",
        PLAIN.format(""),
        "ALTER TABLE thing ALTER id ADD GENERATED ALWAYS AS IDENTITY",
        "error: item.id is GENERATED ALWAYS AS IDENTITY there: INSERTs fail",
        f'{THERE_TABLE}ALTER "id" SET GENERATED BY DEFAULT;',
    ),
    "generated_column_lost": Drift(
        THING_TWICE,
        WITH_TWICE.format(TWICE.format(2)),
        "ALTER TABLE thing DROP w",
        "error: public.thing has no column w",
        f'{THERE_TABLE}ADD "w" integer GENERATED ALWAYS AS ((id * 2)) STORED;',
    ),
    "column_renamed": Drift(
        THING.format("NOT NULL"),
        PLAIN.format("NOT NULL"),
        'ALTER TABLE thing RENAME v TO "V 2"',
        "error: public.thing has no column v, which item has; it may be V 2, renamed",
        f"{HERE_TABLE}ALTER \"v\" OPTIONS (ADD column_name 'V 2');",
    ),
    "column_renamed_again": Drift(
        THING.format("").replace("v text", "w text, more text"),
        PLAIN.format("OPTIONS (column_name 'w')"),
        "ALTER TABLE thing RENAME w TO x",
        "error: public.thing has no column w, which item has; it may be x, renamed",
        f"{HERE_TABLE}ALTER \"v\" OPTIONS (SET column_name 'x');",
    ),
    "column_renamed_partition": Drift(
        THING.format(""),
        RANGED,
        "ALTER TABLE thing RENAME v TO w",
        "error: public.thing has no column v, which item_a has; it may be w, renamed",
        f'{THERE_TABLE}RENAME "w" TO "v";',
    ),
    "collation_plain": Drift(
        THING.format(""),
        PLAIN.format(""),
        'ALTER TABLE thing ALTER v TYPE text COLLATE "POSIX"',
        "error: item.v has collation default here and pg_catalog.",
        f'{HERE_TABLE}ALTER "v" TYPE text COLLATE pg_catalog."POSIX";',
    ),
    "collation_partition": Drift(
        THING.format(""),
        RANGED,
        'ALTER TABLE thing ALTER v TYPE text COLLATE "POSIX"',
        "error: item_a.v has collation default here and pg_catalog.",
        f'{THERE_TABLE}ALTER "v" TYPE text COLLATE pg_catalog."default";',
    ),
    "type_with_a_collation": Drift(
        THING.format('COLLATE "POSIX"'),
        PLAIN.format('COLLATE "POSIX"'),
        'ALTER TABLE thing ALTER v TYPE varchar(5) COLLATE "POSIX"',
        "warning: item.v is text here and character varying(5) there",
        f'{HERE_TABLE}ALTER "v" TYPE character varying(5) COLLATE pg_catalog."POSIX";',
    ),
    "type_partition_with_a_default": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text DEFAULT 'a')",
        RANGED,
        "ALTER TABLE thing ALTER v DROP DEFAULT, ALTER v TYPE int USING 1, ALTER v SET DEFAULT 7",
        "error: item_a.v is text here and integer there",
        f'{THERE_TABLE}ALTER "v" DROP DEFAULT, ALTER "v" TYPE text COLLATE pg_catalog."default" '
        'USING "v"::text, ALTER "v" SET DEFAULT CAST(7 AS text);',
    ),
    "column_that_new_rows_lack": Drift(
        THING.format(""),
        RANGED,
        "ALTER TABLE thing ADD more int NOT NULL",
        "error: item_a lacks more, which is NOT NULL",
        f'{THERE_TABLE}ALTER "more" DROP NOT NULL;',
    ),
    "table": Drift(
        """CREATE SCHEMA "Of"; CREATE TABLE "Of".thing (id int PRIMARY KEY, v text COLLATE "C")""",
        PLAIN.format('COLLATE "C"').replace("(table_name", "(schema_name 'Of', table_name"),
        'DROP SCHEMA "Of" CASCADE',
        'error: "Of".thing is missing, the table behind item',
        'Run on the node: CREATE SCHEMA "Of"; CREATE TABLE "Of".thing ("id" integer NOT NULL, '
        '"v" text COLLATE pg_catalog."C");',
    ),
    "range_check_of_a_renamed_key": Drift(
        "CREATE TABLE thing (w int PRIMARY KEY CONSTRAINT own CHECK (w >= 0 AND w < 100), id text)",
        """CREATE TABLE item (id int, v text) PARTITION BY RANGE (id);
        CREATE FOREIGN TABLE item_a (id int OPTIONS (column_name 'w'),
            v text OPTIONS (column_name 'id')) SERVER node1 OPTIONS (table_name 'thing');
        ALTER TABLE item ATTACH PARTITION item_a FOR VALUES FROM (0) TO (100)""",
        "ALTER TABLE thing ADD CONSTRAINT more CHECK (w < 50)",
        "error: public.thing refuses, by more, some rows of the bounds of item_a",
        f'{THERE_TABLE}DROP CONSTRAINT "more";',
    ),
    "hash_check": Drift(
        f"{HASH_THERE.replace('thing', 'other')}; "
        "CREATE TABLE thing (id int PRIMARY KEY CONSTRAINT own "
        "CHECK (satisfies_hash_partition('whole'::regclass, 4, 1, id)), v text)",
        HASHED,
        "ALTER TABLE thing DROP CONSTRAINT own, ADD CONSTRAINT own CHECK "
        "(satisfies_hash_partition('whole'::regclass, 4, 3, id))",
        "error: public.thing refuses, by own, every row of the bounds of item_a",
        f'{THERE_TABLE}DROP CONSTRAINT "own";',
    ),
    "hash_narrower_check": Drift(
        f"{HASH_THERE.replace('thing', 'other')}; "
        "CREATE TABLE thing (id int PRIMARY KEY CONSTRAINT own "
        "CHECK (satisfies_hash_partition('whole'::regclass, 4, 1, id)), v text)",
        HASHED,
        "ALTER TABLE thing ADD CONSTRAINT more CHECK "
        "(satisfies_hash_partition('whole'::regclass, 8, 5, id))",
        "error: public.thing refuses, by more, some rows of the bounds of item_a",
        f'{THERE_TABLE}DROP CONSTRAINT "more";',
    ),
    "hash_no_check": Drift(
        "CREATE TABLE thing (id int PRIMARY KEY, v text)",
        HASHED,
        "",
        "note: nothing there keeps rows out that are not of the bounds",
        'Run on the node: CREATE TABLE "public"."thing_hash" ("id" integer) PARTITION BY HASH '
        '("id"); ALTER TABLE public.thing ADD CHECK (satisfies_hash_partition('
        '\'"public"."thing_hash"\'::regclass, 4, 1, "id"));',
    ),
    "hash_partition_there": Drift(
        HASH_THERE,
        HASHED,
        f"{MOVED} FOR VALUES WITH (MODULUS 4, REMAINDER 2)",
        "error: partitions of public.whole refuse rows, as their bounds are not those here",
        "Run on the node: ALTER TABLE public.whole DETACH PARTITION public.thing; ALTER TABLE "
        "public.whole ATTACH PARTITION public.thing FOR VALUES WITH (modulus 4, remainder 1);",
    ),
    "two_changed_places": Drift(
        """CREATE TABLE whole (id int PRIMARY KEY) PARTITION BY LIST (id);
        CREATE TABLE item_a PARTITION OF whole FOR VALUES IN (1);
        CREATE TABLE item_b PARTITION OF whole FOR VALUES IN (2)""",
        """CREATE TABLE item (id int) PARTITION BY LIST (id);
        CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES IN (1) SERVER node1;
        CREATE FOREIGN TABLE item_b PARTITION OF item FOR VALUES IN (2) SERVER node1""",
        "ALTER TABLE whole DETACH PARTITION item_a; ALTER TABLE whole DETACH PARTITION item_b; "
        "ALTER TABLE whole ATTACH PARTITION item_a FOR VALUES IN (2); "
        "ALTER TABLE whole ATTACH PARTITION item_b FOR VALUES IN (1)",
        "error: partitions of public.whole refuse rows, as their bounds are not those here: "
        "public.item_a (item_a here), public.item_b (item_b here)",
        "Run on the node: ALTER TABLE public.whole DETACH PARTITION public.item_a; ALTER TABLE "
        "public.whole DETACH PARTITION public.item_b; ALTER TABLE public.whole ATTACH",
    ),
    "range_partition_there": Drift(
        RANGE_THERE,
        RANGED,
        f"{MOVED} FOR VALUES FROM (0) TO (50)",
        "error: partitions of public.whole refuse rows, as their bounds are not those here",
        "Run on the node: ALTER TABLE public.whole DETACH PARTITION public.thing; ALTER TABLE "
        "public.whole ATTACH PARTITION public.thing FOR VALUES FROM (0) TO (100);",
    ),
}
