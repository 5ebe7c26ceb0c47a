-- check() finds rows on a wrong node, copies that lag, and constraints that a node has lost.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE kind (id int PRIMARY KEY, name text CHECK (name <> ''), UNIQUE (name));
CREATE TABLE orders (id int PRIMARY KEY, kind int REFERENCES kind, n int CONSTRAINT small CHECK (n < 100));
INSERT INTO kind VALUES (1, 'one'), (2, 'two');
INSERT INTO orders SELECT i, 1 + i % 2, i FROM generate_series(1, 20) AS i;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_table('orders', 'id', tablets => 2);
SELECT * FROM shuttle.check();

-- a row of the first tablet comes to the second one's node, whose net lets it through
SELECT tablet, node FROM shuttle.tablets ORDER BY tablet::text;
SELECT id FROM shuttle_tablets.orders_t0 ORDER BY id LIMIT 1 \gset
SELECT format($plant$DO $$ BEGIN
ALTER TABLE shop.orders DETACH PARTITION shop.orders_t1;
INSERT INTO shop.orders_t1 VALUES (%s, 1, 1);
END $$ $plant$, :id) AS plant \gset
SELECT server, ok FROM shuttle.run_on_nodes(:'plant', '{n2}');
SELECT * FROM shuttle.check();
SELECT server, ok FROM shuttle.run_on_nodes($plant$DO $$ BEGIN
EXECUTE format('ALTER TABLE shop.orders_t1 ADD CONSTRAINT net CHECK (satisfies_hash_partition(%s, 2, 1, id)) NOT VALID', 'shop.orders'::regclass::oid);
UPDATE pg_constraint SET convalidated = true WHERE conname = 'net';
ALTER TABLE shop.orders ATTACH PARTITION shop.orders_t1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE shop.orders_t1 DROP CONSTRAINT net;
END $$ $plant$, '{n2}');
SELECT * FROM shuttle.check();
SELECT count(*) FROM orders;
SELECT server, ok FROM shuttle.run_on_nodes(format('DELETE FROM shop.orders_t1 WHERE id = %s', :id), '{n2}');
SELECT * FROM shuttle.check();

-- a copy lags: its trigger also fires where others do not, so the owner disables it
SET session_replication_role = replica;
UPDATE kind SET name = 'zwei' WHERE id = 2;
RESET session_replication_role;
SELECT * FROM shuttle.check();
SET shuttle.enable_ddl = off;
ALTER TABLE kind DISABLE TRIGGER ALL;
RESET shuttle.enable_ddl;
UPDATE kind SET name = 'deux' WHERE id = 2;
SELECT * FROM shuttle.check();
SELECT * FROM shuttle.check(true);
ALTER TABLE kind ENABLE TRIGGER ALL;
SELECT server, ok FROM shuttle.run_on_nodes('UPDATE shop.kind SET name = $$2$$ WHERE id = 2', '{n1}');
SELECT server, ok FROM shuttle.run_on_nodes('UPDATE shop.kind SET name = $$1$$ WHERE id = 1', '{n2}');
SELECT * FROM shuttle.check(true);
SELECT * FROM shuttle.check();

-- lost constraints
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.orders DROP CONSTRAINT small', '{n1}');
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.kind DROP CONSTRAINT kind_name_key', '{n2}');
UPDATE orders SET n = 100 WHERE id IN (SELECT id FROM shuttle_tablets.orders_t0 LIMIT 1);
SELECT * FROM shuttle.check();
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.orders DROP CONSTRAINT orders_pkey', '{n2}');
SELECT * FROM shuttle.check();
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.orders DROP CONSTRAINT orders_kind_fkey', '{n1}');
CREATE UNIQUE INDEX orders_once ON orders (id, n);
CREATE INDEX kind_lower ON kind (lower(name));
SELECT server, ok FROM shuttle.run_on_nodes('DROP INDEX shop.orders_once', '{n1}');
SELECT server, ok FROM shuttle.run_on_nodes('DROP INDEX shop.kind_lower', '{n2}');
SELECT * FROM shuttle.check();
DROP TABLE orders, kind;
DROP SCHEMA shop CASCADE;
