-- INSERT ... SELECT with one key goes to its node as a whole; rows, tags and errors are those of
-- core's plans, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE kind (id int PRIMARY KEY, name text);
CREATE TABLE orders (customer int, id int, price numeric(8,2), note varchar(8), at timestamptz, PRIMARY KEY (customer, id));
-- its columns have another order, defaults, a generated one, and one is gone
CREATE TABLE archive (gone int, note text DEFAULT 'none', id bigint, twice bigint GENERATED ALWAYS AS (id * 2) STORED,
	customer int, price numeric(6,1) NOT NULL DEFAULT 7, more int[], since timestamptz DEFAULT now(), PRIMARY KEY (customer, id));
CREATE TABLE numbered (customer int, id serial, note text, PRIMARY KEY (customer, id));
CREATE TABLE seen (customer int, id int, note text, PRIMARY KEY (customer, id));
ALTER TABLE archive DROP COLUMN gone;
INSERT INTO kind VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO orders SELECT i % 20 + 1, i, i * 1.37, nullif('n' || i % 3, 'n0'), '2024-01-01 00:00+0' FROM generate_series(1, 200) AS i;
INSERT INTO archive (customer, id, note) SELECT customer, 1, 'old' FROM generate_series(1, 20) AS customer;
SELECT format('CREATE TABLE plain.%1$s (LIKE %1$s INCLUDING ALL)', t), format('INSERT INTO plain.%1$s SELECT %2$s FROM %1$s', t, c)
FROM (VALUES ('kind', '*'), ('orders', '*'), ('numbered', '*'), ('seen', '*')) AS v(t, c)
\gexec
CREATE TABLE plain.archive (LIKE archive INCLUDING ALL);
INSERT INTO plain.archive (note, id, customer, price, more, since) SELECT note, id, customer, price, more, since FROM archive;
SET client_min_messages = warning;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_tables('{orders.customer, archive.customer, numbered.customer, seen.customer}', tablets => 4);
RESET client_min_messages;
\i :test/include/compared.sql
-- what a statement returns and leaves
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	found := array(SELECT unnest(answer(query)) ORDER BY 1);
	RETURN found || array(SELECT a::text FROM archive a WHERE id <> 1 OR note <> 'old' ORDER BY 1)
		|| array(SELECT s::text FROM seen s ORDER BY 1) || array(SELECT customer || note FROM numbered ORDER BY 1);
END $$;
EXPLAIN (COSTS OFF) INSERT INTO archive (id, customer, price) SELECT id, customer, price FROM orders WHERE customer = 7;
SELECT q AS statement, compare(q) FROM unnest(ARRAY[
	'INSERT INTO archive (id, customer, price) SELECT id, customer, price FROM orders WHERE customer = 7',
	'INSERT INTO archive (price, customer, id, note) SELECT price, customer, id, note FROM orders WHERE customer = 7 AND id > 50',
	'INSERT INTO archive (customer, id) SELECT 7, id FROM orders WHERE customer = 7',
	'INSERT INTO archive (customer, id, more) SELECT 7, id, ARRAY[id, 5] FROM orders WHERE customer = 7',
	'INSERT INTO archive AS a (customer, id, note) SELECT o.customer, o.id, ''x'' FROM orders o WHERE o.customer = 7 RETURNING a.id, twice, note, price',
	'INSERT INTO archive (customer, id, note, since) SELECT customer, max(id), NULL, max(at) FROM orders WHERE customer = 7 GROUP BY customer',
	'INSERT INTO archive (customer, id, note) SELECT customer, id, note FROM orders WHERE customer = 7 ORDER BY price DESC LIMIT 3',
	'INSERT INTO archive (customer, id, note, price) SELECT a.customer, o.id + 1000, a.note, a.price + o.price FROM archive a JOIN orders o USING (customer) WHERE customer = 9',
	'INSERT INTO archive (customer, id, note) SELECT o.customer, o.id, k.name FROM orders o JOIN kind k ON k.id = o.id % 4 WHERE o.customer = 9',
	'WITH o AS (SELECT * FROM orders WHERE customer = 9) INSERT INTO archive (customer, id, note) SELECT customer, id, (SELECT count(*)::text FROM o) FROM o',
	'INSERT INTO archive (customer, id, note) WITH o AS (SELECT * FROM orders WHERE customer = 9) SELECT customer, id, (SELECT count(*)::text FROM o) FROM o',
	'WITH i AS (INSERT INTO archive (customer, id) SELECT customer, id FROM orders WHERE customer = 9 RETURNING customer, id) SELECT o.note, i.id FROM i JOIN orders o ON o.customer = i.customer AND o.id = i.id',
	'WITH d AS (DELETE FROM orders WHERE customer = 9 RETURNING *) INSERT INTO archive (customer, id, note) SELECT customer, id, note FROM d',
	'INSERT INTO seen SELECT customer, id, note FROM orders WHERE customer = 3 UNION ALL SELECT customer, id + 500, note FROM orders WHERE customer = 3',
	'INSERT INTO seen SELECT customer, id, o.note || (SELECT max(a.note) FROM archive a WHERE a.customer = o.customer) FROM orders o WHERE customer = 3',
	'INSERT INTO seen (id, customer) SELECT id, customer FROM (SELECT id, customer FROM orders) o WHERE customer = 3',
	'INSERT INTO seen (customer, note, id) SELECT customer, left(now()::text, 0), id FROM orders WHERE customer = 3',
	'INSERT INTO seen SELECT customer, id, row_number() OVER (ORDER BY id) FROM orders WHERE customer = 3',
	-- errors
	'INSERT INTO archive (customer, id) SELECT customer, id FROM orders WHERE customer = 7 UNION ALL SELECT 7, 1',
	'INSERT INTO archive (customer, id) SELECT customer, 1 FROM orders WHERE customer = 7',
	'INSERT INTO archive (customer, id, price) SELECT customer, id, NULL FROM orders WHERE customer = 7',
	'INSERT INTO archive (customer, id, price) SELECT customer, id, 100000 FROM orders WHERE customer = 7',
	'INSERT INTO archive (customer, id, price) SELECT customer, id, 1 / (id - 6) FROM orders WHERE customer = 7',
	'INSERT INTO orders (customer, id, note) SELECT customer, id + 1000, repeat(note, 5) FROM orders WHERE customer = 7',
	'INSERT INTO orders (customer, id, note) SELECT customer, id + 1000, repeat(note, 5)::varchar(8) FROM orders WHERE customer = 7 RETURNING note',
	-- those that core plans
	'INSERT INTO seen SELECT customer, id, note FROM orders',
	'INSERT INTO seen SELECT customer + 1, id, note FROM orders WHERE customer = 3',
	'INSERT INTO seen SELECT 4, id, note FROM orders WHERE customer = 3',
	'INSERT INTO seen SELECT 4, i, ''n'' FROM generate_series(1, 3) AS i',
	'INSERT INTO seen VALUES (4, 1, ''n''), (4, 2, ''n'')',
	'INSERT INTO numbered (customer, note) SELECT customer, note FROM orders WHERE customer = 3',
	'INSERT INTO seen SELECT customer, id, note FROM orders WHERE customer = 3 ON CONFLICT DO NOTHING',
	'INSERT INTO archive (customer, id, more[1]) SELECT customer, id, 8 FROM orders WHERE customer = 3']) AS q;

-- one plan for all keys
SET plan_cache_mode = force_generic_plan;
PREPARE copy(int, text) AS INSERT INTO seen (note, id, customer) SELECT $2 || note, id, $1 FROM orders WHERE customer = $1 AND id < 50;
EXPLAIN (COSTS OFF) EXECUTE copy(7, 'a');
EXECUTE copy(7, 'a');
EXECUTE copy(8, 'b');
EXECUTE copy(NULL, 'b');
EXECUTE copy(7, 'a');
SELECT * FROM seen ORDER BY 1, 2;
DO $$
DECLARE n int;
BEGIN
	INSERT INTO archive (customer, id, note) SELECT customer, id, note FROM seen WHERE customer = 8;
	GET DIAGNOSTICS n = ROW_COUNT;
	RAISE NOTICE '% %', n, FOUND;
	INSERT INTO archive (customer, id, note) SELECT customer, id, note FROM seen WHERE customer = 11;
	RAISE NOTICE '%', FOUND;
END $$;
SELECT note, id, twice, customer, price FROM archive WHERE customer = 8 ORDER BY id;
BEGIN READ ONLY;
INSERT INTO seen SELECT customer, id FROM orders WHERE customer = 5;
ROLLBACK;

-- triggers, policies, rights, views
CREATE FUNCTION note_it() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.note := ''triggered''; RETURN NEW; END';
CREATE TRIGGER noting BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION note_it();
SELECT is_routed('INSERT INTO seen SELECT customer, id FROM orders WHERE customer = 5');
DROP TRIGGER noting ON seen;
CREATE VIEW few AS SELECT * FROM seen WHERE id < 30 WITH CHECK OPTION;
INSERT INTO few SELECT customer, id FROM orders WHERE customer = 5;
CREATE VIEW all_seen AS SELECT note, id, customer FROM seen;
EXPLAIN (COSTS OFF) INSERT INTO all_seen SELECT 'v', id, customer FROM orders WHERE customer = 5;
INSERT INTO all_seen SELECT 'v', id, customer FROM orders WHERE customer = 5 AND id < 50;
SELECT * FROM seen WHERE customer = 5 ORDER BY id;
CREATE ROLE router_writer;
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
GRANT USAGE ON SCHEMA shop TO router_writer;
GRANT SELECT ON orders TO router_writer;
SET ROLE router_writer;
INSERT INTO seen SELECT customer, id FROM orders WHERE customer = 6;
RESET ROLE;
GRANT INSERT (customer, id) ON seen TO router_writer;
SET ROLE router_writer;
INSERT INTO seen SELECT customer, id, note FROM orders WHERE customer = 6;
INSERT INTO seen SELECT customer, id FROM orders WHERE customer = 6;
RESET ROLE;
ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
CREATE POLICY few_rows ON seen TO router_writer WITH CHECK (id < 100);
SET ROLE router_writer;
INSERT INTO seen (customer, id) SELECT customer, id FROM orders WHERE customer = 4;
RESET ROLE;
DROP SCHEMA shop CASCADE;
DROP ROLE router_writer;
