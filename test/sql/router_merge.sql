-- MERGE with one key goes to its node as a whole; rows, counts and errors are those of the MERGE of
-- here, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE orders (customer int, id int, amount numeric(6,1), PRIMARY KEY (customer, id));
-- its columns have another order, a default, an identity and a generated one
CREATE TABLE item (note varchar(10) DEFAULT 'none', n numeric(6,1), twice bigint GENERATED ALWAYS AS (id * 2) STORED,
	customer int, id bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (customer, id), CHECK (n < 1000));
CREATE TABLE seen (customer int, id int, note text, PRIMARY KEY (customer, id));
INSERT INTO kind VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO orders SELECT i % 20 + 1, i / 20, i FROM generate_series(1, 100) AS i;
INSERT INTO item (customer, id, note, n) OVERRIDING SYSTEM VALUE SELECT i % 20 + 1, i / 20, 'old ' || i, i FROM generate_series(1, 60) AS i;
SELECT format('CREATE TABLE plain.%1$s (LIKE %1$s INCLUDING ALL)', t), format('INSERT INTO plain.%1$s SELECT * FROM %1$s', t)
FROM unnest('{kind,orders,seen}'::text[]) AS t
\gexec
CREATE TABLE plain.item (LIKE item INCLUDING ALL);
INSERT INTO plain.item (customer, id, note, n) OVERRIDING SYSTEM VALUE SELECT customer, id, note, n FROM item;
SET client_min_messages = warning;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{orders.customer, item.customer, seen.customer}', tablets => 4);
RESET client_min_messages;
\i :test/include/compared.sql
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	found := answer(query);
	RETURN found || array(SELECT i::text FROM item i ORDER BY customer, id) || array(SELECT s::text FROM seen s ORDER BY 1);
END $$;
EXPLAIN (COSTS OFF) MERGE INTO item i USING orders o ON i.customer = o.customer AND i.id = o.id AND i.customer = 7
	WHEN MATCHED AND o.amount > 20 THEN UPDATE SET n = i.n + o.amount WHEN MATCHED THEN DELETE;
SELECT q AS statement, compare(q) FROM unnest(ARRAY[
	'MERGE INTO item i USING orders o ON i.customer = o.customer AND i.id = o.id AND i.customer = 7 WHEN MATCHED AND o.amount > 20 THEN UPDATE SET n = i.n + o.amount WHEN MATCHED THEN DELETE',
	'MERGE INTO item i USING (SELECT *, ''x'' AS note FROM orders WHERE customer = 7) o ON i.customer = o.customer AND i.id = o.id WHEN MATCHED AND i.n > 30 THEN DO NOTHING WHEN MATCHED THEN UPDATE SET (note, n) = (SELECT ''m'' || o.note, o.amount) WHEN NOT MATCHED THEN INSERT (customer, id, n) OVERRIDING SYSTEM VALUE VALUES (o.customer, o.id, o.amount)',
	'MERGE INTO item i USING (SELECT * FROM orders WHERE customer = 7) o ON i.customer = o.customer AND i.id = o.id WHEN NOT MATCHED AND o.amount > 50 THEN INSERT (n, id, customer, note) OVERRIDING SYSTEM VALUE VALUES (DEFAULT, 100 + o.id, 7, left(now()::text, 0))',
	'MERGE INTO item i USING (SELECT * FROM orders WHERE customer = 7) o ON i.customer = 7 AND i.id = o.id WHEN MATCHED THEN UPDATE SET note = DEFAULT, n = (SELECT count(*) FROM seen s WHERE s.customer = i.customer)',
	'MERGE INTO seen AS s USING (VALUES (7, 1, ''a''), (7, 2, ''b'')) AS v (c, id, note) ON s.customer = v.c AND s.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.c, v.id, v.note) WHEN MATCHED THEN DELETE',
	'MERGE INTO seen AS s USING (SELECT 7 AS c, i FROM generate_series(1, 3) i) AS v ON s.customer = v.c AND s.id = v.i WHEN NOT MATCHED THEN INSERT VALUES (v.c, v.i, now()::date - now()::date)',
	'MERGE INTO item i USING kind k ON i.customer = 9 AND i.id = k.id WHEN MATCHED THEN UPDATE SET note = k.name WHEN NOT MATCHED THEN INSERT (customer, id, note) OVERRIDING SYSTEM VALUE VALUES (9, k.id, k.name)',
	'WITH o AS (SELECT * FROM orders WHERE customer = 9) MERGE INTO item i USING o ON i.customer = o.customer AND i.id = o.id WHEN MATCHED THEN UPDATE SET n = n + (SELECT sum(amount) FROM o)',
	'MERGE INTO item i USING orders o LEFT JOIN seen s ON s.customer = o.customer AND s.id = o.id ON i.customer = o.customer AND i.id = o.id AND o.customer = 7 AND s.customer = 7 WHEN MATCHED THEN DELETE',
	-- errors
	'MERGE INTO item i USING orders o ON i.customer = o.customer AND i.customer = 7 WHEN MATCHED THEN UPDATE SET n = o.amount',
	'MERGE INTO item i USING orders o ON i.customer = o.customer AND i.id = o.id AND i.customer = 7 WHEN MATCHED THEN UPDATE SET n = o.amount + 1000',
	'MERGE INTO item i USING (SELECT * FROM orders WHERE customer = 7) o ON i.customer = o.customer AND i.id = o.id + 100 WHEN NOT MATCHED THEN INSERT (customer, id, n) OVERRIDING SYSTEM VALUE VALUES (o.customer, 1, o.amount)',
	'MERGE INTO item i USING orders o ON i.customer = o.customer AND i.id = o.id AND i.customer = 7 WHEN MATCHED THEN UPDATE SET n = 1 / (o.id - 1)',
	-- those that core plans
	'MERGE INTO item i USING orders o ON i.customer = o.customer AND i.id = o.id AND i.customer = 7 WHEN NOT MATCHED THEN INSERT (customer, id) OVERRIDING SYSTEM VALUE VALUES (o.customer, o.id)',
	'MERGE INTO item i USING orders o ON i.customer = o.customer AND i.id = o.id WHEN MATCHED THEN DELETE',
	'MERGE INTO item i USING (SELECT * FROM orders WHERE customer = 7) o ON i.customer = o.customer AND i.id = o.id WHEN NOT MATCHED THEN INSERT (customer, id) OVERRIDING SYSTEM VALUE VALUES (o.customer + 1, o.id)',
	'MERGE INTO item i USING (SELECT * FROM orders WHERE customer = 7) o ON i.customer = o.customer AND i.id = o.id WHEN MATCHED THEN UPDATE SET customer = i.customer + 1']) AS q;

-- from 17 on; the MERGE of here has no RETURNING
SELECT q AS statement, compare(q) FROM unnest(ARRAY[
	'MERGE INTO item i USING (SELECT * FROM orders WHERE customer = 7) o ON i.customer = o.customer AND i.id = o.id WHEN MATCHED AND i.n > 30 THEN DELETE WHEN MATCHED THEN UPDATE SET note = ''m'' WHEN NOT MATCHED THEN INSERT (customer, id, n) OVERRIDING SYSTEM VALUE VALUES (o.customer, o.id, o.amount) RETURNING merge_action(), i.id, twice, o.amount',
	'WITH m AS (MERGE INTO seen s USING (SELECT * FROM orders WHERE customer = 7) o ON s.customer = o.customer AND s.id = o.id WHEN NOT MATCHED THEN INSERT VALUES (o.customer, o.id, ''w'') RETURNING s.id, s.customer) SELECT m.id, i.note FROM m LEFT JOIN item i USING (customer, id) ORDER BY 1']) AS q
WHERE current_setting('server_version_num')::int >= 170000 AND compare(q) !~ '^routed.*(same|core refuses: .0A000.*)$';

-- one plan for all keys; two keys of several nodes
SET plan_cache_mode = force_generic_plan;
PREPARE merge(int, text) AS MERGE INTO seen s USING (SELECT * FROM orders WHERE customer = $1) o ON s.customer = o.customer AND s.id = o.id
	WHEN MATCHED THEN UPDATE SET note = s.note || $2 WHEN NOT MATCHED THEN INSERT VALUES (o.customer, o.id, $2);
EXPLAIN (COSTS OFF) EXECUTE merge(7, 'a');
EXECUTE merge(7, 'a');
EXECUTE merge(8, 'b');
EXECUTE merge(7, 'c');
EXECUTE merge(NULL, 'c');
PREPARE two(int, int) AS MERGE INTO seen s USING (SELECT * FROM orders WHERE customer = $1) o ON s.customer = $2 AND s.id = o.id
	WHEN MATCHED THEN UPDATE SET note = note || '!';
EXECUTE two(7, 7);
EXECUTE two(1, 7);
EXECUTE two(2, 7);
EXECUTE two(3, 7);
EXECUTE two(4, 7);
SELECT * FROM seen ORDER BY 1, 2;
RESET plan_cache_mode;
DO $$
DECLARE n int;
BEGIN
	MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 8 AND s.id = o.id WHEN MATCHED THEN DELETE;
	GET DIAGNOSTICS n = ROW_COUNT;
	RAISE NOTICE '% %', n, FOUND;
	MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 8 AND s.id = o.id WHEN MATCHED THEN DELETE;
	RAISE NOTICE '%', FOUND;
END $$;
BEGIN READ ONLY;
MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 7 AND s.id = o.id WHEN MATCHED THEN DELETE;
ROLLBACK;

-- triggers, views, policies, rights
CREATE FUNCTION note_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := ''triggered''; RETURN NEW; END';
CREATE TRIGGER noting BEFORE UPDATE ON seen FOR EACH ROW EXECUTE FUNCTION note_it();
SELECT is_routed('MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 7 AND s.id = o.id WHEN MATCHED THEN DELETE');
DO $$ BEGIN
	RAISE NOTICE '%', is_routed('MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 7 AND s.id = o.id WHEN MATCHED AND o.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET note = NULL');
EXCEPTION WHEN feature_not_supported THEN RAISE NOTICE 'refused';
END $$;
DROP TRIGGER noting ON seen;
CREATE ROLE router_merger;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO router_merger;
GRANT SELECT ON seen, orders TO router_merger;
GRANT DELETE ON seen TO router_merger;
SET ROLE router_merger;
MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 7 AND s.id = o.id WHEN MATCHED AND o.id = 1 THEN DELETE;
MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 7 AND s.id = o.id WHEN MATCHED THEN UPDATE SET note = NULL;
RESET ROLE;
ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
CREATE POLICY few_rows ON seen TO router_merger USING (id < 3);
SET ROLE router_merger;
DO $$ BEGIN
	RAISE NOTICE '%', is_routed('MERGE INTO seen s USING orders o ON s.customer = o.customer AND s.customer = 7 AND s.id = o.id WHEN MATCHED THEN DELETE');
EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLSTATE;
END $$;
RESET ROLE;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
DROP ROLE router_merger;
