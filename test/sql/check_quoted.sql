-- check() finds what differs, and nothing else, under quote_all_identifiers, too: names and
-- definitions are printed with quotes here then, and without them on nodes.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE kind (id int PRIMARY KEY, name text UNIQUE, CHECK (id < 1000));
CREATE TABLE item (id int PRIMARY KEY, kind int REFERENCES kind, n int CHECK (n < 50), twice int GENERATED ALWAYS AS (n * 2) STORED);
INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(1, 3) AS i;
INSERT INTO item SELECT i, i % 3 + 1, i FROM generate_series(1, 40) AS i;
SET quote_all_identifiers = on;
SELECT shuttle.reference_table('kind');
SELECT shuttle.distribute_table('item', 'id', 4);
SELECT * FROM shuttle.check();
CREATE INDEX ON item (lower(n::text)) WHERE n > 3;
CREATE UNIQUE INDEX ON item (id, n);
ALTER TABLE item ADD COLUMN note text DEFAULT 'none', ADD CONSTRAINT few CHECK (length(note) < 9);
ALTER TABLE kind ADD COLUMN d date DEFAULT '2024-05-06';
SELECT * FROM shuttle.check();
-- what differs is found
SELECT count(*) FROM shuttle.run_on_nodes('DROP INDEX shop.item_id_n_idx; ALTER TABLE shop.kind DROP CONSTRAINT kind_name_key', '{n1}') WHERE ok;
SELECT count(*) FROM shuttle.check();
SELECT shuttle.local_table('item');
SELECT count(*), sum(n), sum(twice) FROM item;
RESET quote_all_identifiers;
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
