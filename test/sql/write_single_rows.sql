-- INSERT, UPDATE and DELETE of single rows, with RETURNING, triggers and views.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set state '''SELECT * FROM account ORDER BY id'''
CREATE TABLE pair.change AS SELECT i AS id, 'new ' || i AS owner FROM generate_series(1, 400, 50) i;
ANALYZE pair.change;

-- INSERT
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) VALUES (1001, ''a''), (1002, NULL)');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT id + 1000, 1, owner, 2.5, ''2024-05-05 05:05:05.555555+00'', ''{1e-300,0.1}'' FROM pair.change');
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) VALUES (1001, ''a'') RETURNING *, id * 2, tableoid = ''account''::regclass');
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1)');
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1), (1003) ON CONFLICT DO NOTHING');
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1), (1003) ON CONFLICT DO NOTHING RETURNING id');
SELECT pair.same_write(:state, 'INSERT INTO account (id, balance) VALUES (1001, 1e20)');
SELECT pair.same_write(:state, 'INSERT INTO account SELECT id + 1000, branch, owner FROM account WHERE id < 20');

-- UPDATE and DELETE that need something of this server
SELECT pair.same_write(:state, 'UPDATE account a SET owner = c.owner FROM pair.change c WHERE c.id = a.id');
SELECT pair.same_write(:state, 'UPDATE account a SET owner = c.owner, branch = c.id FROM pair.change c WHERE c.id = a.id RETURNING a.*, c.id, a.owner');
SELECT pair.same_write(:state, 'DELETE FROM account a USING pair.change c WHERE c.id = a.id');
SELECT pair.same_write(:state, 'DELETE FROM account a USING pair.change c WHERE c.id = a.id RETURNING a, c');
SELECT pair.same_write(:state, 'UPDATE account SET balance = balance + pair.here(id) % 7 WHERE id < 8 RETURNING id, balance, ctid IS NOT NULL');
SELECT pair.same_write(:state, 'UPDATE account SET id = 7 WHERE pair.here(id) = pair.here(8)');

-- one row met twice is changed once
SELECT pair.same_write(:state, 'UPDATE account a SET balance = a.balance + 1 FROM (SELECT 5 AS id FROM generate_series(1, 3)) c WHERE pair.here(c.id) = pair.here(a.id)');

-- several statements in one transaction see each other
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1001)',
	'UPDATE account SET owner = ''x'' || pair.here(id) WHERE id > 299',
	'SELECT id, owner FROM account WHERE id > 298 ORDER BY id FOR UPDATE',
	'DELETE FROM account WHERE pair.here(id) % 2 = 0 AND id > 290');

-- CTEs that write; the read beside them sees the state before (trap 24)
SET search_path = ours;
WITH gone AS (DELETE FROM account WHERE pair.here(id) = pair.here(3) RETURNING id)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM account);
SELECT count(*) FROM account;
WITH gone AS (DELETE FROM account WHERE pair.here(id) = pair.here(4) RETURNING id)
SELECT count(*) FROM gone;
WITH made AS (INSERT INTO account (id) VALUES (4) RETURNING id)
SELECT made.id, count(a.id) FROM made, account a WHERE a.id <= 4 GROUP BY 1;
RESET search_path;

-- triggers here
CREATE FUNCTION pair.before_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF tg_op = 'DELETE' THEN
		RETURN CASE WHEN old.id % 2 = 0 THEN old END;
	END IF;
	new.owner := coalesce(new.owner, '') || ' before';
	RETURN new;
END $$;
CREATE FUNCTION pair.after_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % %', tg_table_schema, tg_op, old, new;
	RETURN NULL;
END $$;
CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON stock.account FOR EACH ROW EXECUTE FUNCTION pair.before_row();
CREATE TRIGGER b BEFORE INSERT OR UPDATE OR DELETE ON ours.account FOR EACH ROW EXECUTE FUNCTION pair.before_row();
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) VALUES (1001, ''a'') RETURNING owner');
SELECT pair.same_write(:state, 'UPDATE account SET balance = 0 WHERE id < 4 RETURNING owner, balance');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE id < 6 RETURNING id');
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON stock.account FOR EACH ROW EXECUTE FUNCTION pair.after_row();
CREATE TRIGGER a AFTER INSERT OR UPDATE OR DELETE ON ours.account FOR EACH ROW EXECUTE FUNCTION pair.after_row();
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) VALUES (1001, ''a'')',
	'UPDATE account SET balance = 0 WHERE id IN (1, 1001)', 'DELETE FROM account WHERE id = 1001');
DROP TRIGGER a ON stock.account;
DROP TRIGGER a ON ours.account;
DROP TRIGGER b ON stock.account;
DROP TRIGGER b ON ours.account;

-- a trigger on the node that keeps a row, or changes it
CREATE FUNCTION node.keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	new.owner := 'node ' || new.id;
	RETURN CASE WHEN new.id % 2 = 0 THEN new END;
END $$;
CREATE TRIGGER k BEFORE INSERT OR UPDATE ON node.account FOR EACH ROW EXECUTE FUNCTION node.keep();
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1001), (1002) RETURNING id, owner');
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.here(id) % 3 WHERE id < 9');
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.here(id) % 3 WHERE id < 9 RETURNING id, owner, balance');
DROP TRIGGER k ON node.account;

-- views that check what is written
CREATE VIEW stock.rich AS SELECT * FROM stock.account WHERE balance > 300 WITH CHECK OPTION;
CREATE VIEW ours.rich AS SELECT * FROM ours.account WHERE balance > 300 WITH CHECK OPTION;
SELECT pair.same_write(:state, 'INSERT INTO rich (id, balance) VALUES (1001, 301)');
SELECT pair.same_write(:state, 'INSERT INTO rich (id, balance) VALUES (1001, 299)');
SELECT pair.same_write(:state, 'UPDATE rich SET balance = balance - 60 WHERE id > 290');
SELECT pair.same_write(:state, 'UPDATE rich SET balance = balance + 60 RETURNING id, balance');

-- generated columns are the node's
CREATE TABLE node.sum (a int, b int, c int GENERATED ALWAYS AS (a + b) STORED);
CREATE FOREIGN TABLE stock.sum (a int, b int, c int GENERATED ALWAYS AS (a + b) STORED) SERVER stock_node OPTIONS (schema_name 'node');
CREATE FOREIGN TABLE ours.sum (a int, b int, c int GENERATED ALWAYS AS (a + b) STORED) SERVER our_node OPTIONS (schema_name 'node');
SELECT pair.same_write('SELECT * FROM sum ORDER BY 1', 'INSERT INTO sum VALUES (1, 2), (3, 4) RETURNING *', 'UPDATE sum SET a = 7 WHERE b = 4 RETURNING *');

-- what cannot be written is refused as by postgres_fdw
ALTER SERVER stock_node OPTIONS (ADD updatable 'false');
ALTER SERVER our_node OPTIONS (ADD updatable 'false');
SELECT pair.same_write(:state, 'DELETE FROM account');
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1001)');
