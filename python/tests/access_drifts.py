"""Rights that the remote user loses on a node, and what the doctor says of each."""

from drifts import KEYED, PLAIN, RANGED, THING, Drift

AS_LIMITED = "ALTER USER MAPPING FOR PUBLIC SERVER node1 OPTIONS (SET user 'limited');"
ROLE = "GRANT CREATE ON DATABASE shuttle TO limited"
LIMITED = f"""{THING.format("")}; {ROLE}; GRANT ALL ON thing TO limited;
CREATE TABLE more (id int); GRANT ALL ON more TO limited"""
ITEM = AS_LIMITED + PLAIN.format("")
NUMBERED = "CREATE TABLE thing (id int PRIMARY KEY, v text, n bigserial)"
OPTIONS = "OPTIONS (table_name 'thing', shuttle_remote_default 'on')"

ACCESS_DRIFTS = {
    "select_revoked": Drift(
        LIMITED,
        ITEM,
        "REVOKE ALL ON thing FROM limited",
        "error: limited lacks SELECT, INSERT, UPDATE, DELETE there, so that statements fail, for "
        "item",
        'Run on the node: GRANT SELECT, INSERT, UPDATE, DELETE ON public.thing TO "limited";',
    ),
    "select_of_a_column_revoked": Drift(
        LIMITED,
        AS_LIMITED + RANGED,
        "REVOKE SELECT ON thing FROM limited; GRANT SELECT (id) ON thing TO limited",
        'error: limited lacks SELECT ("v") there, so that statements fail, for item_a',
        'Run on the node: GRANT SELECT ("v") ON public.thing TO "limited";',
    ),
    "write_revoked": Drift(
        LIMITED,
        ITEM,
        "REVOKE INSERT, DELETE ON thing FROM limited",
        "warning: limited lacks INSERT, DELETE there, so that statements fail, for item",
        'Run on the node: GRANT INSERT, DELETE ON public.thing TO "limited";',
    ),
    "a_user_who_only_reads": Drift(
        LIMITED.replace("ALL ON thing", "SELECT ON thing"),
        ITEM,
        "",
        "note: limited lacks INSERT, UPDATE, DELETE there, so that statements fail, for item",
        'Run on the node: GRANT INSERT, UPDATE, DELETE ON public.thing TO "limited";',
    ),
    "schema_closed": Drift(
        f"""CREATE SCHEMA "Of"; CREATE TABLE "Of".thing (id int PRIMARY KEY, v text); {ROLE};
        GRANT ALL ON "Of".thing TO limited;
        GRANT USAGE ON SCHEMA "Of" TO limited""",
        ITEM.replace("(table_name", "(schema_name 'Of', table_name"),
        'REVOKE USAGE ON SCHEMA "Of" FROM limited',
        "error: limited may not use schema Of there: statements fail for item",
        'Run on the node: GRANT USAGE ON SCHEMA "Of" TO "limited";',
    ),
    "sequence_of_a_column_that_is_not_here": Drift(
        f"{LIMITED.replace(THING.format(''), NUMBERED)}; GRANT ALL ON thing_n_seq TO limited",
        ITEM,
        "REVOKE ALL ON SEQUENCE thing_n_seq FROM limited",
        "error: limited may not use public.thing_n_seq there, which gives new rows of item their",
        'Run on the node: GRANT USAGE ON SEQUENCE public.thing_n_seq TO "limited";',
    ),
    "sequence_of_a_column_that_the_node_fills": Drift(
        f"{LIMITED.replace(THING.format(''), NUMBERED)}; GRANT ALL ON thing_n_seq TO limited",
        f"{AS_LIMITED} CREATE FOREIGN TABLE item ({KEYED}, v text, n bigint NOT NULL) "
        f"SERVER node1 {OPTIONS}",
        "REVOKE ALL ON SEQUENCE thing_n_seq FROM limited",
        "error: limited may not use public.thing_n_seq there, which gives new rows of item their",
        'Run on the node: GRANT USAGE ON SEQUENCE public.thing_n_seq TO "limited";',
    ),
    "row_security": Drift(
        LIMITED,
        ITEM,
        "ALTER TABLE thing ENABLE ROW LEVEL SECURITY; "
        "CREATE POLICY mine ON thing TO limited USING (id < 7)",
        "warning: row security there may hide rows from limited, and answers lack them: item",
        'Run on the node: CREATE POLICY all_rows ON public.thing TO "limited" USING (true);',
    ),
    "row_security_of_the_owner": Drift(
        f"{LIMITED}; GRANT CREATE ON SCHEMA public TO limited; ALTER TABLE thing OWNER TO limited; "
        "ALTER TABLE thing ENABLE ROW LEVEL SECURITY",
        ITEM,
        "ALTER TABLE thing FORCE ROW LEVEL SECURITY",
        "warning: row security there may hide rows from limited, and answers lack them: item",
        'Run on the node: CREATE POLICY all_rows ON public.thing TO "limited" USING (true);',
    ),
}
