-- INSERT ... ON CONFLICT with one key goes to its node as a whole; rows, counts and errors are those of
-- core's plans, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE orders (customer int, id int, note varchar(8), PRIMARY KEY (customer, id));
-- its columns have another order, defaults, a generated one, and one is gone
CREATE TABLE item (gone int, note varchar(10) DEFAULT 'none', n numeric(6,1) NOT NULL DEFAULT 7, twice bigint GENERATED ALWAYS AS (id * 2) STORED,
	customer int, id bigint, code char(4), tags text[], at timestamptz DEFAULT now(), CONSTRAINT item_pk PRIMARY KEY (customer, id),
	CONSTRAINT item_code UNIQUE (customer, code), CHECK (n < 1000));
ALTER TABLE item DROP COLUMN gone;
CREATE UNIQUE INDEX ON item (customer, note) WHERE n > 500;
CREATE TABLE numbered (customer int, id bigserial, other int DEFAULT nextval('numbered_id_seq'), note text, PRIMARY KEY (customer, id));
CREATE TABLE always (customer int, id bigint GENERATED ALWAYS AS IDENTITY, note text, PRIMARY KEY (customer, id));
INSERT INTO kind VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO orders SELECT i % 20 + 1, i, 'n' || i % 3 FROM generate_series(1, 100) AS i;
INSERT INTO item (customer, id, note, n, code) SELECT i % 20 + 1, i / 20, 'old ' || i, i, 'c' || i / 20 FROM generate_series(1, 60) AS i;
CREATE TABLE plain.item (LIKE item INCLUDING ALL);
ALTER TABLE plain.item RENAME CONSTRAINT item_pkey TO item_pk;
ALTER TABLE plain.item RENAME CONSTRAINT item_customer_code_key TO item_code;
INSERT INTO plain.item (note, n, customer, id, code, tags, at) SELECT note, n, customer, id, code, tags, at FROM item;
SELECT format('CREATE TABLE plain.%1$s (LIKE %1$s INCLUDING ALL)', t), format('INSERT INTO plain.%1$s SELECT * FROM %1$s', t)
FROM unnest('{kind,orders,numbered}'::text[]) AS t
\gexec
CREATE TABLE plain.always (LIKE always INCLUDING ALL);
CREATE FUNCTION clean(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN lower(btrim($1)); END';
CREATE FUNCTION next_one() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN nextval('numbered_id_seq') + 1000; END $$;
SET client_min_messages = warning;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{orders.customer, item.customer, numbered.customer, always.customer}', tablets => 4);
RESET client_min_messages;
\i :test/include/compared.sql
-- what a statement returns and leaves
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	PERFORM setval('numbered_id_seq', 100);
	PERFORM setval(pg_get_serial_sequence('always', 'id'), 50);
	found := answer(query);
	RETURN found || array(SELECT i::text FROM item i ORDER BY customer, id) || array(SELECT s::text FROM numbered s ORDER BY 1)
		|| array(SELECT s::text FROM always s ORDER BY 1) || array(SELECT s::text FROM orders s ORDER BY 1) || nextval('numbered_id_seq')::text;
END $$;
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO item (id, customer, n) VALUES (1, 7, 3) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + excluded.n;
SELECT q AS statement, compare(q) FROM unnest(ARRAY[
	'INSERT INTO item (id, customer, n) VALUES (1, 7, 3) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + excluded.n',
	'INSERT INTO item AS i (id, customer, n, note) VALUES (1, 7, 3, ''x'') ON CONFLICT (id, customer) DO UPDATE SET (n, note) = (i.n + excluded.n, excluded.note || i.note) WHERE i.n > 5 RETURNING *, i.n * 2',
	'INSERT INTO item AS i (id, customer) VALUES (1, 7) ON CONFLICT (customer, id) DO UPDATE SET n = i.n + 1 WHERE i.n < 0 RETURNING id',
	'INSERT INTO item (id, customer, code) VALUES (9, 7, ''z'') ON CONFLICT (customer, id) DO UPDATE SET n = 0 RETURNING xmax = 0, id, twice, at',
	'INSERT INTO item (id, customer, code) VALUES (1, 7, ''z'') ON CONFLICT (customer, id) DO UPDATE SET n = 0, note = DEFAULT, at = now() RETURNING xmax = 0, id, note, at',
	'INSERT INTO item (id, customer) VALUES (1, 7) ON CONFLICT DO NOTHING',
	'INSERT INTO item (id, customer, code) VALUES (8, 7, ''c1'') ON CONFLICT DO NOTHING RETURNING id',
	'INSERT INTO item (id, customer, code) VALUES (8, 7, ''c1'') ON CONFLICT (customer, id) DO NOTHING',
	'INSERT INTO item (id, customer, code) VALUES (8, 7, ''c1'') ON CONFLICT ON CONSTRAINT item_code DO UPDATE SET n = excluded.n + 1, id = excluded.id RETURNING id, n, code',
	'INSERT INTO item (id, customer, code) VALUES (1, 7, ''c1'') ON CONFLICT ON CONSTRAINT item_pk DO UPDATE SET customer = excluded.customer, tags = item.tags || ''{a}''',
	'INSERT INTO item (id, customer, note, n) VALUES (20, 7, ''some'', 600), (21, 7, ''some'', 700) ON CONFLICT (customer, note) WHERE n > 500 DO NOTHING RETURNING id, note',
	'INSERT INTO item (customer, id, n) VALUES (7, 1, 1), (7, 2, DEFAULT), (7, 30, 3.25) ON CONFLICT (customer, id) DO UPDATE SET n = excluded.n RETURNING id, n, at = now(), note, twice',
	'INSERT INTO item (customer, id, n) VALUES (7, 30, 1), (7, 30, 2) ON CONFLICT (customer, id) DO UPDATE SET n = excluded.n',
	'INSERT INTO item (customer, id, n) VALUES (7, 30, 1), (7, 30, 2) ON CONFLICT (customer, id) DO NOTHING',
	'INSERT INTO item (customer, id, n) VALUES (7, 1, 1), (8, 1, 1), (9, 1, 1) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + 1 RETURNING customer, n',
	'INSERT INTO orders VALUES (7, 1, 1 + 1), (7, 2, NULL), (7, 3, ''y'') ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO item (customer, id, n) VALUES (7, 2147483648, 1), (7, 30, 2.55) ON CONFLICT (customer, id) DO NOTHING RETURNING id, n',
	'INSERT INTO item (customer, id, n) VALUES (7, 1, 1), (7, 0, 2) ON CONFLICT (customer, id) DO UPDATE SET n = 10 / (excluded.n - 2)',
	'INSERT INTO item (customer, id, note) VALUES (7, 1, clean('' A '')), (7, 2, concat(1, now()::date - now()::date)) ON CONFLICT (customer, id) DO UPDATE SET note = excluded.note || ''!''',
	'INSERT INTO item (customer, id, n) SELECT customer, id, 5 FROM orders WHERE customer = 8 ON CONFLICT (customer, id) DO UPDATE SET n = item.n + excluded.n RETURNING id, n',
	'INSERT INTO item (customer, id, n) SELECT 8, i, 5 FROM generate_series(1, 5) AS i ON CONFLICT (customer, id) DO UPDATE SET n = item.n + excluded.n RETURNING id, n',
	'INSERT INTO item AS i (customer, id) SELECT o.customer, o.id FROM orders o JOIN kind k ON k.id = o.id % 4 WHERE o.customer = 9 ON CONFLICT (customer, id) DO UPDATE SET note = (SELECT max(note) FROM orders WHERE customer = excluded.customer) || ''x''',
	'INSERT INTO item (customer, id, n) VALUES (8, 1, (SELECT count(*) FROM orders WHERE customer = 8)) ON CONFLICT (customer, id) DO UPDATE SET n = excluded.n RETURNING n',
	'INSERT INTO orders VALUES (7, 1, ''y''), (7, 6, ''y'') ON CONFLICT (customer, id) DO UPDATE SET note = excluded.note RETURNING xmax = 0, id',
	'INSERT INTO orders VALUES (7, 1, ''y''), (7, 6, ''y'') ON CONFLICT (customer, id) DO UPDATE SET note = excluded.note RETURNING *',
	'WITH i AS (INSERT INTO item (customer, id, n) VALUES (8, 1, 1), (8, 77, 1) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + 1 RETURNING customer, id, n) SELECT i.*, o.note FROM i LEFT JOIN orders o ON o.customer = i.customer AND o.id = i.id + 6 ORDER BY i.id',
	'WITH i AS (INSERT INTO orders VALUES (8, 500, ''new'') RETURNING *) INSERT INTO item (customer, id, n) SELECT customer, id, 2 FROM i ON CONFLICT (customer, id) DO NOTHING RETURNING id',
	'WITH i AS (INSERT INTO orders VALUES (8, 500, ''new''), (8, 501, ''new'')) INSERT INTO item (customer, id, n) VALUES (8, 500, 2)',
	-- what is computed here, once for each row
	'INSERT INTO numbered (customer, note) VALUES (3, ''a'') ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO numbered (customer, note) VALUES (3, ''a''), (3, ''b'') ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO numbered (note, other, customer) VALUES (''a'', nextval(''numbered_id_seq''), 3) ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO numbered (note, other, customer) VALUES (''a'', nextval(''numbered_id_seq''), 3), (lastval()::text, next_one(), 3) ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO numbered VALUES (3, next_one(), next_one(), next_one()::text), (3, next_one(), next_one(), next_one()::text) ON CONFLICT DO NOTHING RETURNING *',
	'INSERT INTO always (customer, note) VALUES (3, ''a''), (3, ''b'') ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO always (customer, id) OVERRIDING SYSTEM VALUE VALUES (3, 7), (3, 8) ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO always (customer, id) OVERRIDING USER VALUE VALUES (3, 7), (3, 8) ON CONFLICT (customer, id) DO NOTHING RETURNING *',
	'INSERT INTO always (customer, id) OVERRIDING SYSTEM VALUE SELECT customer, id FROM orders WHERE customer = 4',
	'INSERT INTO numbered (customer, id) VALUES (3, 1 / (lastval() - lastval())) ON CONFLICT DO NOTHING',
	-- errors
	'INSERT INTO item (customer, id, n) VALUES (7, 1, 1) ON CONFLICT (customer, id) DO UPDATE SET n = 2000',
	'INSERT INTO item (customer, id, n) VALUES (7, 1, NULL) ON CONFLICT (customer, id) DO UPDATE SET n = 2',
	'INSERT INTO item (customer, id, n) VALUES (7, 1, 1) ON CONFLICT (customer, id) DO UPDATE SET n = NULL',
	'INSERT INTO item (customer, id, code) VALUES (7, 0, ''n'') ON CONFLICT (customer, id) DO UPDATE SET code = ''c1''',
	'INSERT INTO item (customer, id, code) VALUES (7, 0, ''long one'') ON CONFLICT (customer, id) DO NOTHING',
	'INSERT INTO item (customer, id) VALUES (NULL, 0) ON CONFLICT (customer, id) DO NOTHING',
	'INSERT INTO item (customer, id) VALUES (7, 0) ON CONFLICT (customer, note) DO NOTHING',
	'INSERT INTO item (customer, id, note) VALUES (7, 0, (1 / (length(clean('''')))::int)::text) ON CONFLICT (customer, id) DO NOTHING',
	-- those that core plans
	'INSERT INTO item (customer, id, n) VALUES (1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (5, 1, 1) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + 1',
	'INSERT INTO item (customer, id, n) SELECT customer, id, 1 FROM orders ON CONFLICT (customer, id) DO UPDATE SET n = item.n + 1',
	'INSERT INTO orders VALUES (7, 1, ''y''), (7, 6, ''y'') ON CONFLICT (customer, id) DO UPDATE SET note = concat(''a'', excluded.note) RETURNING id',
	'INSERT INTO item (customer, id) VALUES (7, 1), (7, 2)']) AS q;

-- one plan for all keys; rows with keys of several parameters are core's
SET plan_cache_mode = force_generic_plan;
PREPARE upsert(int, bigint, numeric) AS INSERT INTO item (id, n, customer) VALUES ($2, $3, $1) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + $3 RETURNING id, n;
EXPLAIN (COSTS OFF) EXECUTE upsert(7, 1, 2);
EXECUTE upsert(7, 1, 2);
EXECUTE upsert(8, 1, 3);
EXECUTE upsert(8, 90, 3);
EXECUTE upsert(8, 90, 4);
PREPARE two(int, int) AS INSERT INTO item (id, customer) VALUES (91, $1), (92, $2) ON CONFLICT (customer, id) DO NOTHING;
EXPLAIN (COSTS OFF) EXECUTE two(7, 7);
PREPARE same_key(int, int) AS INSERT INTO item (id, customer) VALUES ($2, $1), ($2 + 1, $1) ON CONFLICT (customer, id) DO NOTHING RETURNING id;
EXPLAIN (COSTS OFF) EXECUTE same_key(7, 200);
EXECUTE same_key(7, 200);
EXECUTE same_key(7, 201);
RESET plan_cache_mode;
DO $$
DECLARE
	n int;
	c int := 8;
BEGIN
	FOR i IN 90..91 LOOP
		INSERT INTO item (customer, id) VALUES (c, i) ON CONFLICT (customer, id) DO NOTHING;
		GET DIAGNOSTICS n = ROW_COUNT;
		RAISE NOTICE '% %', n, FOUND;
	END LOOP;
END $$;
BEGIN READ ONLY;
INSERT INTO item (customer, id) VALUES (7, 1) ON CONFLICT DO NOTHING;
ROLLBACK;
-- rows that were left before are there
BEGIN;
INSERT INTO item (customer, id, n) VALUES (5, 300, 1);
INSERT INTO item (customer, id, n) VALUES (5, 300, 1) ON CONFLICT (customer, id) DO UPDATE SET n = item.n + 1 RETURNING n;
ROLLBACK;

-- triggers, views, policies, rights
CREATE FUNCTION note_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := ''triggered''; RETURN NEW; END';
CREATE TRIGGER noting BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION note_it();
SELECT is_routed('INSERT INTO item (customer, id) VALUES (7, 1) ON CONFLICT (customer, id) DO NOTHING');
SELECT is_routed('INSERT INTO item (customer, id) VALUES (7, 1) ON CONFLICT (customer, id) DO UPDATE SET n = 1');
DROP TRIGGER noting ON item;
CREATE VIEW few AS SELECT * FROM item WHERE id < 30 WITH CHECK OPTION;
SELECT is_routed('INSERT INTO few (customer, id) VALUES (7, 31) ON CONFLICT (customer, id) DO NOTHING');
CREATE VIEW all_items AS SELECT code, n AS number, id, customer AS c FROM item;
EXPLAIN (VERBOSE, COSTS OFF) INSERT INTO all_items (c, id, number) VALUES (7, 1, 5) ON CONFLICT (c, id) DO UPDATE SET number = excluded.number + all_items.number RETURNING number;
INSERT INTO all_items (c, id, number) VALUES (7, 1, 5) ON CONFLICT (c, id) DO UPDATE SET number = excluded.number + all_items.number RETURNING number;
CREATE ROLE router_upserter;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO router_upserter;
GRANT INSERT, SELECT ON item TO router_upserter;
SET ROLE router_upserter;
INSERT INTO item (customer, id) VALUES (7, 1) ON CONFLICT (customer, id) DO NOTHING;
INSERT INTO item (customer, id) VALUES (7, 1) ON CONFLICT (customer, id) DO UPDATE SET n = 1;
RESET ROLE;
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
CREATE POLICY few_rows ON item TO router_upserter USING (id < 100) WITH CHECK (id < 100);
SET ROLE router_upserter;
EXPLAIN (COSTS OFF) INSERT INTO item (customer, id) VALUES (7, 101) ON CONFLICT (customer, id) DO NOTHING;
INSERT INTO item (customer, id) VALUES (7, 101) ON CONFLICT (customer, id) DO NOTHING;
RESET ROLE;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
DROP ROLE router_upserter;
