-- INSERT in batches (batch_size), and rows routed to foreign partitions.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set state '''SELECT * FROM account ORDER BY id'''
SELECT pair.both('ALTER FOREIGN TABLE %1$s.account OPTIONS (ADD batch_size ''7'')') \g /dev/null

-- full batches, a last one that is not full, one row, none
SELECT pair.plan('INSERT INTO account SELECT i + 1000 FROM generate_series(1, 14) i');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 1000, i, ''x'' FROM generate_series(1, 14) i');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 1000, NULL, ''x'', i FROM generate_series(1, 20) i');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 1000 FROM generate_series(1, 8) i');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 1000 FROM generate_series(1, 0) i');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 290 FROM generate_series(1, 20) i ON CONFLICT DO NOTHING');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 1000 FROM generate_series(1, 20) i RETURNING id');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT i + 285 FROM generate_series(1, 20) i');

-- more parameters than one message holds: the batch is made smaller
SELECT pair.both('ALTER FOREIGN TABLE %1$s.account OPTIONS (SET batch_size ''100000'')') \g /dev/null
SELECT pair.same_write('SELECT count(*), sum(id), sum(balance) FROM account',
	'INSERT INTO account SELECT i + 1000, 1, ''x'', i FROM generate_series(1, 25000) i');

-- generated columns in every row; a table without columns
CREATE TABLE node.sum (a int, b int, c int GENERATED ALWAYS AS (a + b) STORED);
CREATE TABLE node.nothing ();
SELECT pair.both('CREATE FOREIGN TABLE %1$s.sum (a int, c int GENERATED ALWAYS AS (a) STORED, b int)
	SERVER %2$s OPTIONS (schema_name ''node'', batch_size ''3'')') \g /dev/null
SELECT pair.both('CREATE FOREIGN TABLE %1$s.nothing () SERVER %2$s OPTIONS (schema_name ''node'', batch_size ''3'')') \g /dev/null
SELECT pair.same_write('SELECT * FROM sum ORDER BY 1', 'INSERT INTO sum (a, b) SELECT i, i * 2 FROM generate_series(1, 8) i');
SELECT pair.same_write('SELECT count(*) FROM nothing', 'INSERT INTO nothing DEFAULT VALUES');
INSERT INTO ours.nothing SELECT FROM generate_series(1, 4);
SELECT count(*) FROM node.nothing;

-- a renamed column, and values whose text depends on settings
CREATE TABLE node.kind (id int, "at" timestamptz, f float8, i interval, d date);
SELECT pair.both('CREATE FOREIGN TABLE %1$s.kind (d date, id int, whenever timestamptz OPTIONS (column_name ''at''), f float8, i interval)
	SERVER %2$s OPTIONS (schema_name ''node'', batch_size ''2'')') \g /dev/null
SET DateStyle = 'German';
SET IntervalStyle = 'sql_standard';
SET extra_float_digits = -10;
SELECT pair.same_write('SELECT * FROM kind ORDER BY id', 'INSERT INTO kind SELECT date ''2024-02-03'' + n, n, timestamptz ''2024-01-02 03:04:05.678901+00'' + n * interval ''1 day'', n / 3.0::float8, n * interval ''-1 mon 2 days 03:04:05.6'' FROM generate_series(1, 5) n');
INSERT INTO ours.kind (id, f) VALUES (1, 1 / 3.0::float8);
SELECT f = 1 / 3.0::float8 AS exact FROM node.kind;
RESET DateStyle;
RESET IntervalStyle;
RESET extra_float_digits;

-- routed rows: partitions here and there, RETURNING, ON CONFLICT, checks
CREATE TABLE node.even (id int PRIMARY KEY, word text DEFAULT 'node');
SELECT pair.both('CREATE TABLE %1$s.number (id int, word text) PARTITION BY LIST ((id & 1))') \g /dev/null
SELECT pair.both('CREATE FOREIGN TABLE %1$s.even (word text, id int) SERVER %2$s OPTIONS (schema_name ''node'')') \g /dev/null
SELECT pair.both('ALTER TABLE %1$s.number ATTACH PARTITION %1$s.even FOR VALUES IN (0)') \g /dev/null
SELECT pair.both('CREATE TABLE %1$s.odd PARTITION OF %1$s.number FOR VALUES IN (1)') \g /dev/null
SELECT pair.same_write('SELECT *, tableoid::regclass::text FROM number ORDER BY id', 'INSERT INTO number SELECT i, ''w'' || i FROM generate_series(1, 9) i');
SELECT pair.same_write('SELECT * FROM number ORDER BY id', 'INSERT INTO number SELECT i, ''w'' || i FROM generate_series(1, 9) i RETURNING id, word, number');
SELECT pair.same_write('SELECT * FROM number ORDER BY id', 'INSERT INTO number VALUES (2, ''a''), (3, ''b''), (2, ''c'') ON CONFLICT DO NOTHING RETURNING *');
SELECT pair.both('ALTER FOREIGN TABLE %1$s.even OPTIONS (ADD batch_size ''3'')') \g /dev/null
SELECT pair.same_write('SELECT * FROM number ORDER BY id', 'INSERT INTO number SELECT i, ''w'' || i FROM generate_series(1, 11) i');
SELECT pair.same_write('SELECT * FROM number ORDER BY id', 'INSERT INTO number SELECT i FROM generate_series(1, 9) i',
	'UPDATE number SET id = id + 10 WHERE id IN (3, 5) RETURNING *', 'UPDATE number SET word = ''u'' WHERE id < 5', 'DELETE FROM number WHERE id IN (1, 2)');
