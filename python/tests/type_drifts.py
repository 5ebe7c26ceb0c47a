"""Types that differ on a node, and what the doctor says of each."""

from drifts import FOREIGN, KEYED, RANGED, Drift

THING = "CREATE TABLE thing (id int PRIMARY KEY, v {})"
ITEM = f"CREATE FOREIGN TABLE item ({KEYED}, v {{}}) {FOREIGN}"
MOOD = "CREATE TYPE mood AS ENUM ('bad', 'good', 'it''s best');"
LOW = "CREATE DOMAIN low AS int CHECK (VALUE < 100);"
PAIR = "CREATE TYPE pair AS (a int, b text);"
AGAIN = "ALTER TABLE thing DROP v; DROP {0} {1}; CREATE {0} {1} AS {2}; ALTER TABLE thing ADD v {1}"
FILLED = "INSERT INTO thing VALUES (1, 'bad'), (2, 'good')"


def drift(of: str, make: str, change: str, found: str, mended: str) -> Drift:
    """A type that both sides make, and that changes on the node."""
    name = make.split()[2]
    there = make + THING.format(of)
    return Drift(there, make + ITEM.format(of), change, found.format(name), mended.format(name))


THERE = "Run on the node: ALTER TYPE public.{} "
DOMAIN = "Run on the node: ALTER DOMAIN public.{} "
HERE = "Run here: ALTER TYPE public.{} "


TYPE_DRIFTS = {
    "enum_label_here_only": drift(
        "mood",
        MOOD,
        AGAIN.format("TYPE", "mood", "ENUM ('bad', 'good')"),
        "error: public.{} lacks it's best there: statements that have it fail",
        THERE + "ADD VALUE 'it''s best' AFTER 'good';",
    ),
    "enum_two_labels_here_only": drift(
        "mood[]",
        MOOD,
        AGAIN.format("TYPE", "mood", "ENUM ('it''s best')").replace("ADD v mood", "ADD v mood[]"),
        "error: public.{} lacks bad, good there: statements that have it fail",
        THERE + "ADD VALUE 'bad' BEFORE 'it''s best'; ALTER",
    ),
    "enum_label_there_only": drift(
        "mood",
        MOOD,
        "ALTER TYPE mood ADD VALUE 'worst' BEFORE 'bad'",
        "error: public.{} lacks worst here: rows that have it cannot be read",
        HERE + "ADD VALUE 'worst' BEFORE 'bad';",
    ),
    "enum_label_renamed": drift(
        "mood",
        MOOD,
        "ALTER TYPE mood RENAME VALUE 'good' TO 'fine'",
        "error: public.{} lacks good there: statements that have it fail",
        THERE + "RENAME VALUE 'fine' TO 'good'; Or, if 'fine' means something else: ",
    ),
    "enum_of_another_order": drift(
        "mood",
        MOOD,
        AGAIN.format("TYPE", "mood", "ENUM ('good', 'bad', 'it''s best')") + ";" + FILLED,
        "warning: the labels of public.{} have another order there",
        THERE + "RENAME TO \"mood as it was\"; CREATE TYPE public.mood AS ENUM ('bad', ",
    ),
    "domain_check_there_only": drift(
        "low",
        LOW,
        "ALTER DOMAIN low ADD CONSTRAINT more CHECK (VALUE > 0)",
        "error: public.{} refuses values there that the other side takes",
        DOMAIN + 'DROP CONSTRAINT "more";',
    ),
    "domain_check_here_only": drift(
        "low",
        LOW,
        "ALTER DOMAIN low DROP CONSTRAINT low_check",
        "error: public.{} refuses values here that the other side takes: rows cannot be read",
        DOMAIN + "ADD CHECK ((VALUE < 100));",
    ),
    "domain_not_null": drift(
        "low",
        LOW,
        "ALTER DOMAIN low SET NOT NULL; ALTER DOMAIN low DROP CONSTRAINT low_check",
        "error: public.{} refuses values each side that the other side takes",
        DOMAIN + "DROP NOT NULL; ALTER DOMAIN public.low ADD CHECK ((VALUE < 100));",
    ),
    "domain_over_another_type": drift(
        "low",
        LOW,
        AGAIN.format("DOMAIN", "low", "text CHECK (VALUE <> 'a')"),
        "error: public.{} is a domain over integer here and over text there",
        DOMAIN + 'RENAME TO "low as it was"; CREATE DOMAIN public.low AS integer CHECK ',
    ),
    "domain_of_another_length": drift(
        "short",
        "CREATE DOMAIN short AS varchar(5);",
        AGAIN.format("DOMAIN", "short", "varchar(9)"),
        "error: public.{} is a domain over character varying(5) here and over character va",
        DOMAIN + 'RENAME TO "short as it was"; CREATE DOMAIN public.short AS character',
    ),
    "attribute_here_only": drift(
        "pair",
        PAIR,
        "ALTER TYPE pair DROP ATTRIBUTE b",
        "error: public.{} has other attributes there: its values cannot be read or written",
        THERE + 'ADD ATTRIBUTE "b" text;',
    ),
    "attribute_there_only": drift(
        "pair",
        PAIR,
        "ALTER TYPE pair ADD ATTRIBUTE c numeric(5, 2)",
        "error: public.{} has other attributes there: its values cannot be read or written",
        HERE + 'ADD ATTRIBUTE "c" numeric(5,2);',
    ),
    "attribute_renamed": drift(
        "pair",
        PAIR,
        "ALTER TYPE pair RENAME ATTRIBUTE b TO c",
        "warning: public.{} has c there in the place of b",
        THERE + 'RENAME ATTRIBUTE "c" TO "b";',
    ),
    "attribute_of_another_type": drift(
        "pair",
        PAIR,
        AGAIN.format("TYPE", "pair", "(a int, b int)"),
        "error: public.{} has other attributes there: its values cannot be read or written",
        THERE + 'RENAME TO "pair as it was"; CREATE TYPE public.pair AS ("a" integer, "b" t',
    ),
    "enum_of_an_attribute_of_a_partition": Drift(
        f"{MOOD} CREATE TYPE pair AS (a int, b mood); {THING.format('pair')}",
        f"{MOOD} CREATE TYPE pair AS (a int, b mood); {RANGED.replace('v text', 'v pair')}",
        "ALTER TYPE mood ADD VALUE 'worst'",
        "error: public.mood lacks worst here: rows that have it cannot be read",
        HERE.format("mood") + "ADD VALUE 'worst' AFTER 'it''s best';",
    ),
}
