-- Placement rules: their texts, what they allow, tables and partitions that get one, and what is refused.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET client_min_messages = warning;
SELECT count(*) > 0 AS ok FROM generate_series(1, 3) AS i, shuttle.use_node('n' || i);
SELECT shuttle.set_labels('n1', '{"region": "eu", "class": "ssd"}');
SELECT shuttle.set_labels('n2', '{"region": "us", "class": "ssd"}');
SELECT shuttle.set_labels('n3', '{"region": "eu", "class": "archive"}');
SELECT node, labels FROM shuttle.storage_nodes ORDER BY node;
SET client_min_messages = notice;
CREATE VIEW spread AS SELECT relation, node, count(*) FROM shuttle.tablets GROUP BY 1, 2 ORDER BY relation::text, node;

-- one spelling for each rule
CREATE TABLE plain (id int PRIMARY KEY, note text);
CREATE FUNCTION spelled(rule text, of text DEFAULT 'plain') RETURNS text LANGUAGE plpgsql AS $$
DECLARE message text; detail text;
BEGIN
	PERFORM shuttle.place(of::regclass, rule);
	RETURN (SELECT r.rule FROM shuttle.placement_rules AS r WHERE relation = of::regclass);
EXCEPTION WHEN syntax_error OR invalid_parameter_value OR object_not_in_prerequisite_state OR invalid_datetime_format THEN
	GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
	RETURN format('%s %s %s', SQLSTATE, message, detail);
END $$;
SELECT rule, spelled(rule) FROM unnest(ARRAY['region=eu', ' Region = eu', 'region = eu AND class = ssd', 'class=ssd and region=eu', $$'region' in ('eu', us, eu)$$,
	'region <> us', 'region != us', 'region not in (us, asia)', 'anywhere', $$region = 'e''u'$$]) AS rule;
SELECT rule, spelled(rule) FROM unnest(ARRAY['', 'region', 'region =', 'region = eu and', 'region in ()', 'region in (eu', 'region = eu class = ssd', $$region = 'eu$$, 'region = eu;',
	'region = eu; class = ssd', 'region = eu older', 'region = eu older than', 'region = eu older than -1 day', 'region = eu older than soon', 'region = eu older than 90 days', 'region > eu']) AS rule;
SELECT spelled(NULL);
SELECT shuttle.set_labels('n1', '{"region": 1}');
SELECT shuttle.set_labels('n1', '["eu"]');

-- a table that is distributed later
SELECT shuttle.place('plain', 'region = eu');
SELECT shuttle.distribute_table('plain', 'id', 4, nodes => '{n1, n2}');
SELECT shuttle.distribute_table('plain', 'id', 4);
INSERT INTO plain SELECT i, 'note' FROM generate_series(1, 20) AS i;
SELECT * FROM spread;
CREATE TABLE free (id int PRIMARY KEY);
SELECT shuttle.distribute_table('free', 'id', 4);
CREATE TABLE beside (id int PRIMARY KEY);
SELECT shuttle.distribute_table('beside', 'id', colocate_with => 'plain');
SELECT * FROM spread;
SELECT relation, declared_for, rule FROM shuttle.placements;
CALL shuttle.move_tablet('plain_t0', 'n2');
CALL shuttle.split_tablet('beside_t0', 'n2');
-- weights and rules
SELECT relation, source, target, count(*) FROM shuttle.rebalance_plan('tablets', colocated_with => 'plain') GROUP BY 1, 2, 3;
SELECT relation, source, target, count(*) FROM shuttle.rebalance_plan('tablets', '{"n3": 0}', colocated_with => 'plain') GROUP BY 1, 2, 3;
SELECT count(*) FROM shuttle.rebalance_plan('tablets', '{"n1": 0, "n3": 0}', colocated_with => 'plain');
-- labels that break a rule
SELECT shuttle.set_labels('n3', '{"region": "asia"}');
SELECT node, problem, hint FROM shuttle.check() ORDER BY 1, 2;
SELECT source, target, count(*) FROM shuttle.rebalance_plan('tablets', colocated_with => 'plain') GROUP BY 1, 2;
SELECT shuttle.set_labels('n1', '{}');
SELECT shuttle.set_labels('n3', '{"region": "eu", "class": "archive"}');
SELECT count(*) FROM shuttle.check();
-- a rule for the whole group, or for a table alone; and one that cannot be kept
SELECT shuttle.place('plain', 'region = us');
SELECT shuttle.place('beside', 'region = eu', alone => true);
SELECT * FROM spread WHERE relation IN ('plain'::regclass, 'beside'::regclass);
SELECT shuttle.place('plain', NULL);
SELECT shuttle.place('plain', 'region = mars');
SELECT count(*) FROM plain;
DROP TABLE beside, free, plain;
SELECT * FROM shuttle.placement_rules;

-- partitions by region
CREATE TABLE orders (id int, region text, note text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE orders_eu PARTITION OF orders FOR VALUES IN ('eu');
SELECT shuttle.distribute_table('orders', 'id', 4);
SELECT shuttle.place('orders_eu', 'region = eu and class = ssd');
BEGIN;
CREATE TABLE orders_us PARTITION OF orders FOR VALUES IN ('us');
SELECT shuttle.place('orders_us', 'region = us');
INSERT INTO orders SELECT i, 'us', 'note ' || i FROM generate_series(1, 40) AS i;
COMMIT;
INSERT INTO orders SELECT i, 'eu', 'note ' || i FROM generate_series(1, 40) AS i;
CREATE TABLE orders_other PARTITION OF orders DEFAULT;
INSERT INTO orders SELECT i, 'asia', 'note ' || i FROM generate_series(1, 40) AS i;
SELECT * FROM spread;
SELECT region, count(*) FROM orders GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT * FROM orders WHERE region = 'us' AND id = 7;
EXPLAIN (COSTS OFF) SELECT count(*) FROM orders WHERE region = 'us';
-- rows that move between regions
UPDATE orders SET region = 'us' WHERE region = 'eu' AND id BETWEEN 41 AND 50;
UPDATE orders SET id = id + 100, region = 'us' WHERE region = 'eu' AND id <= 5;
SELECT tableoid::regclass::text ~ 'orders_us' AS us, count(*) FROM orders WHERE region = 'us' GROUP BY 1;
-- another table's partitions of the same rule lie with them, also the ones of its own partitions
-- (numbers of groups are compared as numbers)
SELECT setval('shuttle.groups_id_seq', 99999);
CREATE TABLE lines (id int, region text, n int, PRIMARY KEY (id, region, n)) PARTITION BY LIST (region);
CREATE TABLE lines_eu PARTITION OF lines FOR VALUES IN ('eu') PARTITION BY RANGE (n);
CREATE TABLE lines_eu_1 PARTITION OF lines_eu FOR VALUES FROM (0) TO (10);
SELECT shuttle.distribute_table('lines', 'id', colocate_with => 'orders_other');
SELECT shuttle.place('lines_eu', 'class = ssd and region = eu');
CREATE TABLE lines_eu_2 PARTITION OF lines_eu FOR VALUES FROM (10) TO (20);
SELECT count(DISTINCT group_id) FROM shuttle.placements WHERE relation::text ~ '_eu';
SELECT * FROM spread WHERE relation::text ~ 'lines';
CREATE TABLE away (id int, region text, note text, PRIMARY KEY (id, region));
SELECT shuttle.distribute_table('away', 'id', colocate_with => 'orders_eu');
ALTER TABLE orders ATTACH PARTITION away FOR VALUES IN ('moon');
-- one that comes from elsewhere obeys the rule that it gets, also if no other partition has it
CREATE TABLE moved (id int, region text, n int, PRIMARY KEY (id, region, n));
SELECT shuttle.distribute_table('moved', 'id', 4, nodes => '{n2}', colocate_with => NULL);
CREATE TABLE lines_us PARTITION OF lines FOR VALUES IN ('us') PARTITION BY RANGE (n);
SELECT shuttle.place('lines_us', 'region = eu');
ALTER TABLE lines_us ATTACH PARTITION moved FOR VALUES FROM (0) TO (10);
SELECT shuttle.place('lines_us', 'region = us');
ALTER TABLE lines_us ATTACH PARTITION moved FOR VALUES FROM (0) TO (10);
-- one that leaves keeps the rule that it had from above
ALTER TABLE lines_us DETACH PARTITION moved;
ALTER TABLE lines DETACH PARTITION lines_eu;
SELECT relation, declared_for, rule FROM shuttle.placements WHERE relation IN ('moved'::regclass, 'lines_eu_1'::regclass, 'lines_eu_2'::regclass) ORDER BY 1;
SELECT tablet AS moved FROM shuttle.tablets WHERE relation = 'moved'::regclass ORDER BY 1 LIMIT 1 \gset
CALL shuttle.move_tablet(:'moved'::regclass, 'n3');
SELECT node, problem FROM shuttle.check();
-- a partition without its rule lies with the others again: it has rows, so a call moves it
SELECT shuttle.place('orders_us', NULL);
SELECT relation, source, target, count(*) FROM shuttle.rebalance_plan('tablets') WHERE relation = 'orders_us'::regclass GROUP BY 1, 2, 3 ORDER BY 2, 3;
TRUNCATE orders_us;
SELECT shuttle.place('orders_us', 'region = us');
SELECT * FROM spread WHERE relation = 'orders_us'::regclass;
DROP TABLE lines, lines_eu, moved, away;
SELECT relation FROM shuttle.placement_rules ORDER BY relation::text;

-- a global index: its entries have the rule of its table
CREATE TABLE person (id int, email text UNIQUE);
SELECT shuttle.distribute_table('person', 'id', 4);
SELECT shuttle.place('person', 'region = eu', alone => true);
SELECT DISTINCT relation, node FROM shuttle.tablets WHERE relation IN ('person'::regclass, 'shuttle_indexes.person_email_key_entries') ORDER BY 1, 2;
INSERT INTO person VALUES (1, 'a'), (2, 'b');
CREATE UNIQUE INDEX person_note ON person (lower(email));
SELECT DISTINCT node FROM shuttle.tablets WHERE relation = 'shuttle_indexes.person_note_entries'::regclass ORDER BY 1;
SELECT declared_for, rule FROM shuttle.placements WHERE relation = 'shuttle_indexes.person_note_entries'::regclass;

-- ages
CREATE TABLE events (id int, at date, n int, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2001-01-01') TO ('2001-02-01');
CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM ('2001-02-01') TO ('2001-03-01');
CREATE TABLE events_new PARTITION OF events FOR VALUES FROM ('2101-02-01') TO (MAXVALUE);
SELECT shuttle.distribute_table('events', 'id', 2);
SELECT spelled('class = archive older than 90 days; class = ssd', 'events');
SELECT spelled('class = tape older than 90 days', 'events');
SELECT spelled('class = archive older than 90 days', 'events_1');
SELECT problem, hint FROM shuttle.check() ORDER BY 1;
-- one that cannot follow does not keep the others back
CREATE TABLE archived (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE archived_1 PARTITION OF archived FOR VALUES FROM ('2001-01-01') TO ('2001-02-01');
CREATE TABLE archived_new PARTITION OF archived FOR VALUES FROM ('2101-01-01') TO (MAXVALUE);
SELECT shuttle.distribute_table('archived', 'id', 2, colocate_with => NULL);
SELECT spelled('class = archive older than 90 days; class = ssd', 'archived');
CREATE FUNCTION archive(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN i; END $$;
SELECT shuttle.distribute_function('archive(int)', 'i', 'archived_1');
CALL shuttle.tend();
DROP TABLE archived;
DROP FUNCTION archive;
SELECT relation, node FROM shuttle.tablets WHERE relation::text ~ 'events' ORDER BY relation::text, node;
SELECT relation, declared_for, rule, by_age FROM shuttle.placements WHERE relation::text ~ 'events' ORDER BY relation::text;
SELECT count(DISTINCT group_id) FROM shuttle.placements WHERE by_age;
CALL shuttle.tend();
-- the rule has gone
SELECT shuttle.place('events', NULL);
CALL shuttle.tend();
SELECT count(*) FROM shuttle.placements WHERE by_age;
SELECT problem FROM shuttle.check();

-- what is refused
CREATE TABLE ref (id int PRIMARY KEY);
SELECT shuttle.reference_table('ref');
SELECT shuttle.place('ref', 'region = eu');
SELECT shuttle.place((SELECT min(tablet::oid) FROM shuttle.tablets)::regclass, 'region = eu') ;
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child (id int REFERENCES parent);
SELECT shuttle.distribute_tables('{parent.id, child.id}', 2);
SELECT shuttle.place('child', 'region = eu', alone => true);
SELECT shuttle.place(NULL, 'region = eu');
CREATE ROLE stranger;
GRANT USAGE ON SCHEMA shop TO stranger;
SET ROLE stranger;
SELECT shuttle.place('shop.parent', 'region = eu');
RESET ROLE;
CREATE TABLE residents (id int PRIMARY KEY);
SELECT shuttle.place('residents', 'region = eu');
SELECT shuttle.reference_table('residents');
-- rows that a policy hides from who asks are not lost
CREATE TABLE hidden (id int PRIMARY KEY);
SELECT shuttle.distribute_table('hidden', 'id', 2, nodes => '{n1}');
INSERT INTO hidden SELECT generate_series(1, 5);
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, OWNER TO stranger;
GRANT USAGE ON SCHEMA shuttle TO stranger;
SELECT format('ALTER USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (ADD password_required ''false'')', i) FROM generate_series(1, 3) AS i
\gexec
GRANT USAGE ON FOREIGN SERVER n1, n2, n3 TO stranger;
GRANT EXECUTE ON FUNCTION shuttle.place(regclass, text, bool) TO stranger;
SET ROLE stranger;
SELECT count(*) FROM hidden;
SELECT shuttle.place('hidden', 'region = us');
RESET ROLE;
SELECT count(*) FROM hidden;
DROP OWNED BY stranger;
DROP ROLE stranger;
DROP SCHEMA shop CASCADE;
