-- ALTER COLUMN TYPE of the distribution column.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) FROM shuttle.use_node('n1') AS a, shuttle.use_node('n2') AS b;
CREATE TABLE sale (id serial PRIMARY KEY, code text UNIQUE, note text);
CREATE TABLE part (id int PRIMARY KEY, sale_id int REFERENCES sale ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
INSERT INTO sale (code) SELECT 'c' || i FROM generate_series(1, 50) AS i;
INSERT INTO part SELECT i, i % 50 + 1 FROM generate_series(1, 200) AS i;
CREATE VIEW places AS SELECT relation::text, format_type(a.atttypid, NULL) AS type, count(*) AS tablets,
		array_agg(DISTINCT node) AS nodes
	FROM shuttle.tablets JOIN pg_partitioned_table AS p ON partrelid = relation
		JOIN pg_attribute AS a ON a.attrelid = relation AND a.attnum = partattrs[0]
	WHERE relation::text IN ('sale', 'part', 'line') GROUP BY 1, 2 ORDER BY 1;
SELECT shuttle.distribute_table('sale', 'id', tablets => 5, nodes => '{n2}');
SELECT shuttle.distribute_table('part', 'id', tablets => 4);

-- rows, keys, other commands of the statement, tablets and nodes stay
ALTER TABLE sale ALTER COLUMN id TYPE bigint, ADD COLUMN more int DEFAULT 5, ALTER COLUMN note SET DEFAULT 'none';
SELECT * FROM places;
SELECT count(*), sum(id), sum(more) FROM sale;
INSERT INTO sale (code) VALUES ('new') RETURNING *;
INSERT INTO sale (code) VALUES ('c7');
INSERT INTO part VALUES (201, 1000);
DELETE FROM sale WHERE id = 9;
SELECT count(*) FROM part;
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 'part'::regclass AND contype = 'f';
BEGIN;
ALTER TABLE part ALTER COLUMN id TYPE text USING 'p' || id;
SELECT * FROM places;
SELECT id FROM part WHERE id = 'p7';
ROLLBACK;
SELECT * FROM places;
SELECT id FROM part WHERE id = 7;

-- foreign keys are checked again
ALTER TABLE sale ALTER COLUMN id TYPE int USING id + 1000;
ALTER TABLE part ALTER COLUMN sale_id TYPE bigint USING sale_id + 1000;
ALTER TABLE sale ALTER COLUMN id TYPE point USING point(id, id);
-- one that nodes check ties both tables
CREATE TABLE line (sale_id bigint, number int, PRIMARY KEY (sale_id, number));
SELECT shuttle.distribute_table('line', 'sale_id', colocate_with => 'sale');
ALTER TABLE line ADD FOREIGN KEY (sale_id) REFERENCES sale;
ALTER TABLE sale ALTER COLUMN id TYPE int;
ALTER TABLE line ALTER COLUMN sale_id TYPE int;
ALTER TABLE line DROP CONSTRAINT line_sale_id_fkey;
ALTER TABLE line ALTER COLUMN sale_id TYPE int;
ALTER TABLE line DROP COLUMN sale_id;
SELECT * FROM places;
SELECT count(*) FROM sale JOIN part ON part.sale_id = sale.id;
SELECT relation, node, problem FROM shuttle.check();

-- the default tablespace may be named
CREATE INDEX line_number ON line (number) TABLESPACE pg_default;
