-- Which tablets would move: by bytes, rows and numbers, with weights, and what is refused.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
SELECT count(*) > 0 AS ok FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
SELECT * FROM shuttle.rebalance_plan();
CREATE TABLE customer (id int PRIMARY KEY, name text);
CREATE TABLE orders (customer_id int REFERENCES customer, id int, PRIMARY KEY (customer_id, id));
INSERT INTO customer SELECT i, 'name' FROM generate_series(1, 100) AS i;
INSERT INTO orders SELECT 1 + i % 100, i FROM generate_series(1, 1000) AS i;
SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', 6, nodes => '{n1,n2}');

-- a new node gets a third, of tables that lie together
SELECT relation, tablet, tables, source, target, bytes > 0 AS bytes FROM shuttle.rebalance_plan('tablets');
SELECT source, target, count(*) FROM shuttle.rebalance_plan('rows') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT source, target, count(*) FROM shuttle.rebalance_plan() GROUP BY 1, 2 ORDER BY 1, 2;
SELECT sum(rows) FROM shuttle.rebalance_plan('tablets', '{"n1": 0, "n2": 0}');
-- weights: of six tablets
CREATE FUNCTION spread(weights jsonb, threshold float8 DEFAULT 0.1) RETURNS text LANGUAGE sql AS $$
WITH plan AS (SELECT * FROM shuttle.rebalance_plan('tablets', weights, threshold))
SELECT string_agg(format('%s %s', node, (SELECT count(*) FROM shuttle.tablets AS t WHERE relation = 'shop.customer'::regclass
	AND coalesce((SELECT target FROM plan AS p WHERE p.tablet = t.tablet), t.node) = n.node)), ', ' ORDER BY node) || '; moves ' || (SELECT count(*) FROM plan)
FROM shuttle.storage_nodes AS n $$;
SELECT weights, spread(weights::jsonb) FROM unnest('{"{}", "{\"n3\": 0}", "{\"n1\": 0}", "{\"n1\": 4}", "{\"n1\": 0.5, \"n2\": 0.5}", "{\"n1\": 0, \"n2\": 0}", "{\"n3\": 1e6}", NULL}'::text[]) AS weights;
-- a threshold that allows it leaves the new node empty
SELECT threshold, spread('{}', threshold) FROM unnest('{0, 0.5, 0.99, 1}'::float8[]) AS threshold;

-- large tablets: the smallest sum of what moves
CREATE TABLE event (k int, i int, PRIMARY KEY (k, i));
INSERT INTO event SELECT k, i FROM unnest('{1000, 700, 300, 100, 50, 10, 10, 10}'::int[]) WITH ORDINALITY AS t (n, k), generate_series(1, n) AS i;
SELECT shuttle.distribute_table('event', 'k', 16, nodes => '{n1}');
CREATE VIEW places AS SELECT t.tablet, t.node, coalesce(p.target, t.node) AS target, t.estimated_rows AS rows
	FROM shuttle.tablets AS t LEFT JOIN shuttle.rebalance_plan('rows', colocated_with => 'shop.event') AS p ON p.tablet = t.tablet
	WHERE t.relation = 'shop.event'::regclass;
SELECT target, sum(rows) AS rows FROM places GROUP BY 1 ORDER BY 1;
SELECT source, sum(rows) AS rows FROM shuttle.rebalance_plan('rows', colocated_with => 'event') GROUP BY 1;
SELECT DISTINCT relation FROM shuttle.rebalance_plan('tablets', colocated_with => 'event');
-- rows that came since are counted without ANALYZE, and so are tablets that were never analyzed
INSERT INTO event SELECT 2, 1000000 + i FROM generate_series(1, 20000) AS i;
SELECT max(rows) > 15000 AS counted FROM shuttle.rebalance_plan('rows', '{"n1": 0}', colocated_with => 'event');
DELETE FROM event WHERE i > 1000000;
-- each group is spread, though all nodes together are even
CREATE TABLE a (k int PRIMARY KEY);
CREATE TABLE b (k int PRIMARY KEY);
CREATE TABLE c (k int PRIMARY KEY);
DROP TABLE event, customer, orders CASCADE;
SELECT shuttle.distribute_table('a', 'k', 3, nodes => '{n1}');
SELECT shuttle.distribute_table('b', 'k', 3, nodes => '{n2}');
SELECT shuttle.distribute_table('c', 'k', 3, nodes => '{n3}');
SELECT relation, source, target FROM shuttle.rebalance_plan('tablets') ORDER BY 1, 2, 3;
SELECT count(*) FROM shuttle.rebalance_plan();
-- and tables that are whole on a node are spread as well
SELECT shuttle.local_tables('{a, b, c}');
-- groups count by their numbers, not by the texts of these
SELECT setval('shuttle.groups_id_seq', 9998);
SELECT shuttle.distribute_table(t, 'k', 1, nodes => '{n1}') FROM unnest('{a, c}'::regclass[]) AS t;
SELECT shuttle.distribute_table('b', 'k', 2, nodes => '{n1}');
SELECT relation, source, target FROM shuttle.rebalance_plan('tablets') ORDER BY 1, 2, 3;

-- what is refused
SELECT * FROM shuttle.rebalance_plan('size');
SELECT * FROM shuttle.rebalance_plan(NULL);
SELECT * FROM shuttle.rebalance_plan('rows', '{"n9": 1}');
SELECT * FROM shuttle.rebalance_plan('rows', '{"n1": -1}');
SELECT * FROM shuttle.rebalance_plan('rows', '{"n1": "much"}');
SELECT * FROM shuttle.rebalance_plan('rows', '{"n1": null}');
SELECT * FROM shuttle.rebalance_plan('rows', '[1, 2]');
SELECT * FROM shuttle.rebalance_plan('rows', '{"n1": 0, "n2": 0, "n3": 0}');
SELECT * FROM shuttle.rebalance_plan(threshold => -0.1);
SELECT * FROM shuttle.rebalance_plan(threshold => 'nan');
SELECT * FROM shuttle.rebalance_plan(threshold => NULL);
SELECT * FROM shuttle.rebalance_plan(colocated_with => 'pg_class');
BEGIN;
CALL shuttle.rebalance();
ROLLBACK;
DO $$ BEGIN CALL shuttle.rebalance(); EXCEPTION WHEN division_by_zero THEN NULL; END $$;
CALL shuttle.drain_node('n9');
CALL shuttle.drain_node(NULL);
CREATE SERVER no_node FOREIGN DATA WRAPPER shuttle;
CALL shuttle.drain_node('no_node');
SELECT * FROM shuttle.rebalance_plan('rows', '{"no_node": 1}');
CREATE FOREIGN TABLE by_hand (id int) SERVER n1;
CALL shuttle.drain_node('n1');
DROP FOREIGN TABLE by_hand;
DROP SERVER no_node;
CREATE ROLE rebalance_other;
SET ROLE rebalance_other;
SELECT * FROM shuttle.rebalance_plan();
CALL shuttle.rebalance();
CALL shuttle.drain_node('n1');
RESET ROLE;
DROP ROLE rebalance_other;
-- the nodes are not set up for replication: no tablet moves, unless none has to
CALL shuttle.rebalance('tablets');
SELECT count(*) FROM shuttle.tablets WHERE node <> 'n1';
CALL shuttle.drain_node('n2');
SELECT shuttle.remove_node('n2'), shuttle.remove_node('n3');
CALL shuttle.drain_node('n1');
DROP SCHEMA shop CASCADE;
