"""Tables that were renamed or replaced on a node, and what one partition there has alone."""

from drifts import PLAIN, RANGED, THING, Drift

ITEM = PLAIN.format("")
MADE = THING.format("")
TWO_THERE = "CREATE TABLE item_a ({0}); CREATE TABLE item_b ({0})"
TWO_HERE = """CREATE TABLE item (id int NOT NULL, v text) PARTITION BY LIST (id);
CREATE FOREIGN TABLE item_a PARTITION OF item FOR VALUES IN (1) SERVER node1;
CREATE FOREIGN TABLE item_b PARTITION OF item FOR VALUES IN (2) SERVER node1"""
TWO = TWO_THERE.format("id int PRIMARY KEY, v text")
MISSING = "error: public.thing is missing, the table behind item"
RELATION_DRIFTS = {
    "table_renamed": Drift(
        MADE,
        ITEM,
        'ALTER TABLE thing RENAME TO "Thing 2"',
        f'{MISSING}; it may be "public"."Thing 2", renamed',
        'Run on the node: ALTER TABLE "public"."Thing 2" RENAME TO "thing";',
    ),
    "table_of_a_partition_renamed": Drift(
        f"{MADE}; CREATE TABLE other (id int, w text)",
        RANGED,
        "ALTER TABLE thing RENAME TO thing_old",
        f'{MISSING}_a; it may be "public"."thing_old", renamed',
        'Run on the node: ALTER TABLE "public"."thing_old" RENAME TO "thing";',
    ),
    "table_moved": Drift(
        MADE,
        ITEM,
        'CREATE SCHEMA "Of"; ALTER TABLE thing SET SCHEMA "Of"; ALTER TABLE "Of".thing RENAME TO x',
        f'{MISSING}; it may be "Of"."x", renamed',
        'Run on the node: ALTER TABLE "Of"."x" SET SCHEMA "public"; ALTER TABLE "public"."x" ',
    ),
    "one_of_two_may_be_it": Drift(
        f"{MADE}; CREATE TABLE other (LIKE thing)",
        ITEM,
        "ALTER TABLE thing RENAME TO thing_old",
        MISSING,
        "Run on the node: CREATE TABLE public.thing (",
    ),
    "partitioned_without_partitions": Drift(
        MADE,
        ITEM,
        f"DROP TABLE thing; {MADE} PARTITION BY RANGE (id)",
        "error: public.thing, behind item, is partitioned there and has no partitions: it is empty",
        'Run on the node: CREATE TABLE "public"."thing_all" PARTITION OF public.thing DEFAULT;',
    ),
    "partitioned_by_hash_without_partitions": Drift(
        MADE,
        ITEM,
        f"DROP TABLE thing; {MADE} PARTITION BY HASH (id)",
        "error: public.thing, behind item, is partitioned there and has no partitions: it is empty",
        'Run on the node: CREATE TABLE "public"."thing_all" PARTITION OF public.thing FOR VALUES ',
    ),
    "exclusion_of_one_partition": Drift(
        TWO,
        TWO_HERE,
        "ALTER TABLE item_a ADD CONSTRAINT alone EXCLUDE USING btree (v WITH =)",
        'error: public.item_a, behind item_a, refuses rows by alone, EXCLUDE ("v" WITH =), which',
        'Run on the node: ALTER TABLE public.item_a DROP CONSTRAINT "alone";',
    ),
    "nulls_that_are_equal_behind_others": Drift(
        TWO_THERE.format("id int PRIMARY KEY, v text UNIQUE NULLS NOT DISTINCT"),
        TWO_HERE,
        "ALTER TABLE item_b DROP CONSTRAINT item_b_v_key, ADD UNIQUE (v)",
        'error: public.item_b has a unique key ("v") that takes NULL again and again, which item_a',
        'Run on the node: ALTER TABLE public.item_b ADD UNIQUE NULLS NOT DISTINCT ("v");',
    ),
    "trigger_of_one_partition": Drift(
        TWO,
        TWO_HERE,
        "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        "CREATE TRIGGER alone BEFORE INSERT OR UPDATE ON item_b FOR EACH ROW "
        "EXECUTE FUNCTION change()",
        "warning: public.item_b, behind item_b, has the trigger alone, BEFORE INSERT OR UPDATE FOR "
        "EACH ROW EXECUTE FUNCTION public.change, which others of item do not have: item_a on",
        'Run on the node: DROP TRIGGER "alone" ON public.item_b;',
    ),
    "trigger_after": Drift(
        TWO,
        TWO_HERE,
        "CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "
        "CREATE TRIGGER later AFTER INSERT ON item_b FOR EACH ROW EXECUTE FUNCTION change(); "
        "ALTER TABLE item_a ADD UNIQUE (v)",
        'error: public.item_b has no unique key ("v"), which there is behind item_a',
        'Run on the node: ALTER TABLE public.item_b ADD UNIQUE ("v");',
    ),
}
