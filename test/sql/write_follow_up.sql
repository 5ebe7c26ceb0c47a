-- AFTER ROW triggers and checks of views see rows that were written together as they see single ones.
\getenv test PG_ABS_SRCDIR
\i :test/include/foreign.sql
\set SHOW_CONTEXT never
\set state '''SELECT *, (SELECT array_agg(note ORDER BY n) FROM heard) FROM account ORDER BY id'''
-- what a side's triggers heard, in their order
CREATE TABLE ours.heard (n serial, note text);
CREATE TABLE stock.heard (n serial, note text);
CREATE FUNCTION pair.hear() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I.heard (note) VALUES ($1)', TG_TABLE_SCHEMA)
	USING concat_ws(' ', TG_WHEN, TG_OP, TG_LEVEL,
		CASE WHEN TG_OP <> 'INSERT' AND TG_LEVEL = 'ROW' THEN OLD::text END,
		CASE WHEN TG_OP <> 'DELETE' AND TG_LEVEL = 'ROW' THEN NEW::text END);
	RETURN NULL;
END $$;
SELECT pair.both('CREATE TRIGGER hear_row AFTER INSERT OR UPDATE OR DELETE ON %1$s.account FOR EACH ROW EXECUTE FUNCTION pair.hear()') \g /dev/null
SELECT pair.both('CREATE TRIGGER hear_some AFTER UPDATE ON %1$s.account FOR EACH ROW WHEN (OLD.id %% 2 = 0 AND NEW.balance IS NOT NULL) EXECUTE FUNCTION pair.hear()') \g /dev/null
SELECT pair.both('CREATE TRIGGER hear_all AFTER INSERT OR UPDATE OR DELETE ON %1$s.account FOR EACH STATEMENT EXECUTE FUNCTION pair.hear()') \g /dev/null
CREATE FUNCTION pair.flushes(statement text, OUT rows bigint, OUT flushes bigint)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	PERFORM set_config('search_path', 'ours', true);
	EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || statement INTO plan;
	rows := plan -> 0 -> 'Storage Write Requests';
	flushes := plan -> 0 -> 'Storage Flush Requests';
	RAISE EXCEPTION 'undo' USING ERRCODE = 'SH001';
EXCEPTION WHEN SQLSTATE 'SH001' THEN
	NULL;
END $$;

-- one request for all rows
SELECT * FROM pair.flushes('INSERT INTO account (id) SELECT i + 1000 FROM generate_series(1, 100) i');
SELECT * FROM pair.flushes('UPDATE account SET balance = pair.here(id) WHERE id < 100');
SELECT * FROM pair.flushes('DELETE FROM account WHERE pair.here(id) < 100');

-- triggers
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) SELECT i + 1000, i FROM generate_series(1, 100) i');
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) SELECT i + 1000, i FROM generate_series(1, 100) i RETURNING id, owner');
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1001)');
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT i FROM generate_series(290, 310) i ON CONFLICT DO NOTHING');
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.here(id), owner = owner || id WHERE id < 100');
SELECT pair.same_write(:state, 'UPDATE account SET id = id + 1000, balance = NULL WHERE pair.here(id) < 100 RETURNING *');
SELECT pair.same_write(:state, 'UPDATE account SET balance = 0 WHERE pair.here(id) = 7');
SELECT pair.same_write(:state, 'UPDATE account SET balance = 0 WHERE pair.here(id) < 0');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE pair.here(id) < 100');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE pair.here(id) < 100 RETURNING id, account');
SELECT pair.same_write(:state, 'INSERT INTO account (id) VALUES (1001), (1002), (1)', 'DELETE FROM account WHERE pair.here(id) = 3');
SELECT pair.same_write(:state, 'WITH gone AS (DELETE FROM account WHERE pair.here(id) < 10 RETURNING *) UPDATE account SET balance = 1 WHERE pair.here(id) BETWEEN 20 AND 30 RETURNING id');
SET shuttle.write_buffer_size = '1kB';
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) SELECT i + 1000, i FROM generate_series(1, 100) i');
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.here(id), owner = owner || id WHERE id < 100');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE pair.here(id) < 100 RETURNING id');
RESET shuttle.write_buffer_size;
SET shuttle.enable_write_buffer = off;
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.here(id), owner = owner || id WHERE id < 100');
RESET shuttle.enable_write_buffer;

-- BEFORE triggers whose function reads what is buffered
CREATE FUNCTION pair.look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.balance := (SELECT count(*) FROM account WHERE id > 1000);
	RETURN NEW;
END $$;
SELECT pair.both('CREATE TRIGGER look BEFORE INSERT OR UPDATE ON %1$s.account FOR EACH ROW WHEN (NEW.id %% 3 > 0) EXECUTE FUNCTION pair.look()') \g /dev/null
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) SELECT i + 1000, i FROM generate_series(1, 20) i RETURNING *');
SELECT pair.same_write(:state, 'UPDATE account SET id = id + 1000 WHERE pair.here(id) < 20');
-- a statement of such a function that reads fires none of the AFTER triggers
CREATE OR REPLACE FUNCTION pair.look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO heard (note) SELECT 'look ' || count(*) FROM account WHERE id > 1000;
	RETURN NEW;
END $$;
CREATE FUNCTION pair.counts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO heard (note) SELECT 'rows ' || count(*) FROM account WHERE id > 1000;
	RETURN NULL;
END $$;
CREATE FUNCTION pair.peek(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO heard (note) SELECT 'peek ' || id FROM account WHERE id = 300;
	RETURN i;
EXCEPTION WHEN others THEN
	RETURN 0;
END $$;
SELECT pair.both('CREATE TRIGGER counts AFTER INSERT OR UPDATE OR DELETE ON %1$s.account FOR EACH ROW EXECUTE FUNCTION pair.counts()') \g /dev/null
SELECT pair.same_write(:state, 'INSERT INTO account (id, owner) SELECT i + 1000, i FROM generate_series(1, 20) i RETURNING *');
SELECT pair.same_write(:state, 'UPDATE account SET id = id + 1000 WHERE pair.here(id) < 20');
SELECT pair.both('DROP TRIGGER look ON %1$s.account') \g /dev/null
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT pair.peek(i + 1000) FROM generate_series(1, 5) i');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE pair.peek(id) < 5');
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT pair.peek(i + 1000) FROM generate_series(1, 5) i RETURNING 10 / (id - 1003)');
SELECT pair.both('DROP TRIGGER counts ON %1$s.account') \g /dev/null

-- savepoints of such functions that roll back lose nothing of what was written before
CREATE FUNCTION pair.tries(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO account (id) VALUES (i);
	RETURN 0;
EXCEPTION WHEN unique_violation THEN
	RETURN i;
END $$;
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.tries(id) WHERE id < 6');
SELECT pair.same_write(:state, 'UPDATE account SET balance = pair.tries(id) WHERE id < 6 RETURNING id, balance');
SELECT pair.same_write(:state, 'DELETE FROM account WHERE id < 6 AND pair.tries(id) > 0 RETURNING id');
SELECT pair.same_write(:state, 'INSERT INTO account (id, balance) SELECT i + 1000, pair.tries(i) FROM generate_series(1, 5) i RETURNING id, balance');
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT i + pair.tries(i) FROM generate_series(1001, 1005) i');
BEGIN;
SET LOCAL search_path = ours;
DECLARE c CURSOR FOR SELECT id, balance FROM account WHERE id < 6 ORDER BY id;
UPDATE account SET balance = pair.tries(id) WHERE id < 6;
FETCH ALL FROM c;
SELECT id, balance FROM account WHERE id < 6 ORDER BY id;
ROLLBACK;

-- an error of a trigger, and rows that the node keeps out or changes
CREATE FUNCTION pair.refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no %', NEW.id; END$$;
SELECT pair.both('CREATE TRIGGER refuse AFTER INSERT ON %1$s.account FOR EACH ROW WHEN (NEW.id = 1003) EXECUTE FUNCTION pair.refuse()') \g /dev/null
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT i + 1000 FROM generate_series(1, 5) i');
SELECT pair.both('DROP TRIGGER refuse ON %1$s.account') \g /dev/null
CREATE FUNCTION node.change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.owner := 'changed ' || NEW.id;
	RETURN CASE WHEN NEW.id % 5 > 0 THEN NEW END;
END $$;
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON node.account FOR EACH ROW EXECUTE FUNCTION node.change();
SELECT pair.same_write(:state, 'INSERT INTO account (id) SELECT i + 1000 FROM generate_series(1, 20) i');
SELECT pair.same_write(:state, 'UPDATE account SET balance = 3 WHERE pair.here(id) < 20');
DROP TRIGGER change ON node.account;

-- checks of views
SELECT pair.both('CREATE VIEW %1$s.rich AS SELECT id, balance, owner FROM %1$s.account WHERE balance >= 100 WITH CHECK OPTION') \g /dev/null
SELECT pair.both('CREATE VIEW %1$s.richer AS SELECT * FROM %1$s.rich WHERE pair.here(id) < 2000 WITH LOCAL CHECK OPTION') \g /dev/null
SELECT * FROM pair.flushes('INSERT INTO rich SELECT i + 1000, 500 FROM generate_series(1, 100) i');
SELECT pair.same_write(:state, 'INSERT INTO rich SELECT i + 1000, 500 FROM generate_series(1, 100) i');
SELECT pair.same_write(:state, 'INSERT INTO rich SELECT i + 1000, 150 - i FROM generate_series(1, 100) i');
SELECT pair.same_write(:state, 'INSERT INTO richer SELECT i + 1900, 500 FROM generate_series(1, 99) i RETURNING *');
SELECT pair.same_write(:state, 'INSERT INTO richer SELECT i + 1900, 500 FROM generate_series(1, 101) i RETURNING *');
SELECT pair.same_write(:state, 'UPDATE rich SET balance = balance + pair.here(id)');
SELECT pair.same_write(:state, 'UPDATE rich SET balance = balance - pair.here(id)');
SELECT pair.same_write(:state, 'UPDATE richer SET id = id + 1900 WHERE pair.here(id) < 290');
SELECT pair.same_write(:state, 'DELETE FROM richer WHERE pair.here(id) < 200');
CREATE TRIGGER change BEFORE INSERT OR UPDATE ON node.account FOR EACH ROW EXECUTE FUNCTION node.change();
SELECT pair.same_write(:state, 'INSERT INTO rich SELECT i + 1000, 500 FROM generate_series(1, 100) i RETURNING *');
DROP TRIGGER change ON node.account;
-- one with a subquery, which could see what was written
SELECT pair.both('CREATE VIEW %1$s.known AS SELECT id, branch FROM %1$s.account WHERE branch IN (SELECT b.id FROM %1$s.branch b) WITH CHECK OPTION') \g /dev/null
SELECT pair.same_write(:state, 'INSERT INTO known SELECT i + 1000, i FROM generate_series(1, 9) i');
SELECT pair.same_write(:state, 'INSERT INTO known SELECT i + 1000, i FROM generate_series(1, 10) i');

-- partitions, whose triggers and checks are those of the parent
CREATE TABLE node.piece (v int, id int);
INSERT INTO node.piece SELECT i, i FROM generate_series(1, 20) i;
SELECT pair.both('CREATE TABLE %1$s.parted (id int, v int) PARTITION BY RANGE (id)') \g /dev/null
SELECT pair.both('CREATE FOREIGN TABLE %1$s.piece (v int, id int) SERVER %2$s OPTIONS (schema_name ''node'')') \g /dev/null
SELECT pair.both('ALTER TABLE %1$s.parted ATTACH PARTITION %1$s.piece FOR VALUES FROM (0) TO (100)') \g /dev/null
SELECT pair.both('CREATE TABLE %1$s.rest PARTITION OF %1$s.parted DEFAULT') \g /dev/null
SELECT pair.both('CREATE TRIGGER hear_row AFTER INSERT OR UPDATE OR DELETE ON %1$s.parted FOR EACH ROW EXECUTE FUNCTION pair.hear()') \g /dev/null
SELECT pair.both('CREATE VIEW %1$s.small AS SELECT id, v FROM %1$s.parted WHERE v < 1000 WITH CHECK OPTION') \g /dev/null
\set parted '''SELECT *, (SELECT array_agg(note ORDER BY n) FROM heard) FROM parted ORDER BY id, v'''
SELECT pair.same_write(:parted, 'INSERT INTO parted SELECT i, -i FROM generate_series(50, 60) i');
SELECT pair.same_write(:parted, 'INSERT INTO small SELECT i, -i FROM generate_series(50, 60) i RETURNING *');
SELECT pair.same_write(:parted, 'INSERT INTO small SELECT i, i * 20 FROM generate_series(45, 60) i RETURNING *');
SELECT pair.same_write(:parted, 'UPDATE parted SET v = pair.here(v) + 5');
SELECT pair.same_write(:parted, 'UPDATE small SET v = pair.here(v) * 60');
SELECT pair.same_write(:parted, 'DELETE FROM small WHERE pair.here(v) > 5 RETURNING *');

-- of a row that is met several times, BEFORE triggers are fired once, as in a partition of here
CREATE TABLE node.far (id int, v int);
CREATE TABLE ours.met (id int, v int) PARTITION BY LIST (id);
CREATE FOREIGN TABLE ours.far PARTITION OF ours.met FOR VALUES IN (1, 2) SERVER our_node OPTIONS (schema_name 'node');
CREATE TABLE ours.near PARTITION OF ours.met DEFAULT;
CREATE FUNCTION pair.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % %', TG_TABLE_NAME, TG_WHEN, TG_OP, OLD;
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	-- kept out, it is still as it was
	RETURN CASE WHEN NEW.v > 1 THEN NEW END;
END $$;
INSERT INTO ours.met VALUES (1, 0), (3, 0);
CREATE TRIGGER tell BEFORE UPDATE ON ours.met FOR EACH ROW EXECUTE FUNCTION pair.tell();
UPDATE ours.met SET v = n FROM generate_series(1, 3) n WHERE pair.here(n) = n;
UPDATE ours.met SET id = id + 1, v = n FROM generate_series(1, 3) n WHERE pair.here(n) = n AND met.id = 1;
UPDATE ours.met SET id = id + 2, v = n FROM generate_series(2, 3) n WHERE pair.here(n) = n;
CREATE TRIGGER tell_too BEFORE DELETE ON ours.met FOR EACH ROW EXECUTE FUNCTION pair.tell();
DELETE FROM ours.met USING generate_series(1, 3) n WHERE pair.here(n) = n RETURNING met;
