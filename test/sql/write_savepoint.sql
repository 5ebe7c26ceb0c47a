-- What goes out in front of a savepoint that a statement's function opens, and in which order.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set state '''SELECT (SELECT array_agg(k ORDER BY id) FROM kept k), (SELECT array_agg(l ORDER BY id) FROM lone l)'''
CREATE TABLE node.kept (id int PRIMARY KEY, v text);
CREATE TABLE node.lone (id int PRIMARY KEY, v text);
INSERT INTO node.kept SELECT i, 'kept' FROM generate_series(1, 6) i;
INSERT INTO node.lone SELECT i, 'lone' FROM generate_series(1, 6) i;
SELECT pair.tables('kept'), pair.tables('lone') \g /dev/null
CREATE TABLE node.halves (id int, v text) PARTITION BY LIST (id);
CREATE TABLE node.half1 PARTITION OF node.halves FOR VALUES IN (1, 3, 5);
CREATE TABLE node.half2 PARTITION OF node.halves FOR VALUES IN (2, 4, 6);
INSERT INTO node.halves TABLE node.kept;
CREATE TABLE ours.halves (id int, v text) PARTITION BY LIST (id);
CREATE FOREIGN TABLE ours.half1 PARTITION OF ours.halves FOR VALUES IN (1, 3, 5) SERVER our_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.half2 PARTITION OF ours.halves FOR VALUES IN (2, 4, 6) SERVER our_node OPTIONS (schema_name 'node');

-- rows of the outer statement are there before those of the one in its function
CREATE FUNCTION pair.block(word text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		RETURN word;
	EXCEPTION WHEN OTHERS THEN
		RETURN 'failed';
	END;
END $$;
CREATE FUNCTION pair.inner(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF i > 1 THEN
		INSERT INTO kept SELECT x, CASE WHEN x = 101 THEN pair.block('inner') ELSE 'inner' END
		FROM generate_series(100, 101) x ON CONFLICT DO NOTHING;
	END IF;
	RETURN 'outer';
END $$;
SELECT pair.same_here(:state, 'INSERT INTO kept SELECT CASE i WHEN 1 THEN 100 ELSE i + 10 END, pair.inner(i) FROM generate_series(1, 2) i ON CONFLICT DO NOTHING');

-- rows that WITH is to change are not locked in a savepoint of a function that writes
CREATE FUNCTION pair.undone(i int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM lone;
	INSERT INTO lone VALUES (i + 100, 'undone'), (1, 'twice');
	RETURN 'never';
EXCEPTION WHEN unique_violation THEN
	RETURN 'caught';
END $$;
SET shuttle.fetch_limit = 1;
SELECT pair.same_here('SELECT * FROM halves ORDER BY id', 'INSERT INTO lone VALUES (50, ''before'')',
	'WITH a AS (UPDATE halves SET v = pair.undone(id) RETURNING id) SELECT count(*) FROM lone');
SELECT pair.same_here('SELECT * FROM halves ORDER BY id', 'INSERT INTO lone VALUES (50, ''before'')',
	'WITH a AS (DELETE FROM halves WHERE pair.undone(id) = ''caught'' RETURNING id) SELECT count(*) FROM a');
RESET shuttle.fetch_limit;
