-- Who may call which function of the extension, and what a role gets that has no rights at all: on others' tables, servers, functions, and by
-- triggers of its own that call the extension's functions.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
-- what everybody may call
SELECT oid::regprocedure AS routine, prosecdef AS definer FROM pg_proc
WHERE pronamespace = 'shuttle'::regnamespace AND has_function_privilege('public', oid, 'EXECUTE') AND 'internal'::regtype <> ALL (proargtypes) ORDER BY oid::regprocedure::text COLLATE "C";
-- as its owner, and with no search_path of its own
SELECT oid::regprocedure AS routine FROM pg_proc WHERE pronamespace = 'shuttle'::regnamespace AND prosecdef;
SET client_min_messages = warning;
DROP ROLE IF EXISTS functions_stranger;
CREATE ROLE functions_stranger;
CREATE TABLE item (id int PRIMARY KEY, n int);
INSERT INTO item VALUES (1, 1);
SELECT shuttle.distribute_table('item', 'id', 2);
CREATE TABLE local (id int PRIMARY KEY);
CREATE TABLE copied (id int PRIMARY KEY);
SELECT shuttle.reference_table('copied');
CREATE FUNCTION called(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE FUNCTION sent(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
SELECT shuttle.distribute_function('sent(int)');
CREATE SCHEMA strange AUTHORIZATION functions_stranger;
GRANT USAGE ON SCHEMA shop TO functions_stranger;
CREATE FUNCTION strange.outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'done';
EXCEPTION WHEN others THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE strange.statements (n int GENERATED ALWAYS AS IDENTITY, statement text);
INSERT INTO strange.statements (statement) VALUES
	('SELECT shuttle.distribute_table(''shop.local'', ''id'')'),
	('SELECT shuttle.distribute_tables(''{shop.local.id}'')'),
	('SELECT shuttle.reference_table(''shop.local'')'),
	('SELECT shuttle.local_table(''shop.item'')'),
	('SELECT shuttle.local_tables(''{shop.item,shop.copied}'')'),
	('SELECT shuttle.distribute_function(''shop.called(int)'')'),
	('SELECT shuttle.local_function(''shop.sent(int)'')'),
	('SELECT shuttle.place(''shop.item'', ''zone = a'')'),
	('SELECT shuttle.set_labels(''n1'', ''{}'')'),
	('SELECT shuttle.add_node(''n9'', ''127.0.0.1'')'),
	('SELECT shuttle.use_node(''n3'')'),
	('SELECT shuttle.remove_node(''n1'')'),
	('SELECT shuttle.pause_node(''n1'')'),
	('SELECT shuttle.resume_node(''n1'')'),
	('SELECT shuttle.forget_epoch(''n1'')'),
	('SELECT shuttle.reset_node_stats()'),
	('SELECT shuttle.run_on_nodes(''SELECT 1'')'),
	('SELECT shuttle.create_restore_point(''p'')'),
	('SELECT shuttle.recover()'),
	('SELECT shuttle.server_identity()'),
	('SELECT shuttle.new_identity()'),
	('SELECT shuttle.add_query_node(''n1'')'),
	('SELECT shuttle.remove_query_node(''n1'')'),
	('SELECT shuttle.commit_begin()'),
	('SELECT shuttle.check()'),
	('SELECT shuttle.rebalance_plan()'),
	('CALL shuttle.move_tablet(''shuttle_tablets.item_t0''::regclass, ''n2'')'),
	('CALL shuttle.move_tablet(''item_t0''::text, ''n2'')'),
	('CALL shuttle.split_tablet(''shuttle_tablets.item_t0''::regclass, ''n2'')'),
	('CALL shuttle.split_tablet(''item_t0''::text, ''n2'')'),
	('CALL shuttle.move_table(''shop.local'', ''n1'')'),
	('CALL shuttle.rebalance()'),
	('CALL shuttle.drain_node(''n1'')'),
	('CALL shuttle.tend()'),
	('SELECT shuttle.install_citus_names(''shop'')'),
	('SELECT * FROM shuttle.commit_records'),
	('SELECT * FROM shuttle.identity'),
	('SELECT * FROM shuttle.table_moves'),
	('DELETE FROM shuttle.tables'),
	('INSERT INTO shuttle.routines SELECT'),
	('SELECT * FROM shuttle_tablets.item_t0'),
	('DELETE FROM shuttle_tablets.item_t0'),
	('CREATE TRIGGER t AFTER INSERT ON strange.mine FOR EACH ROW EXECUTE FUNCTION shuttle.copy_change(); INSERT INTO strange.mine VALUES (1)'),
	('CREATE TRIGGER t AFTER TRUNCATE ON strange.mine FOR EACH STATEMENT EXECUTE FUNCTION shuttle.copy_change(); TRUNCATE strange.mine'),
	('CREATE TRIGGER t BEFORE INSERT ON strange.mine FOR EACH ROW EXECUTE FUNCTION shuttle.foreign_key_change(); INSERT INTO strange.mine VALUES (1)'),
	('CREATE CONSTRAINT TRIGGER t AFTER INSERT ON strange.mine FOR EACH ROW EXECUTE FUNCTION shuttle.foreign_key_change(); INSERT INTO strange.mine VALUES (1)'),
	('CREATE TRIGGER t AFTER INSERT ON strange.mine FOR EACH ROW EXECUTE FUNCTION shuttle.check_row(''n > 0''); INSERT INTO strange.mine VALUES (1)'),
	('CREATE TRIGGER t BEFORE INSERT ON strange.mine FOR EACH ROW EXECUTE FUNCTION shuttle.index_row(); INSERT INTO strange.mine VALUES (1)'),
	('SELECT shuttle.copy_change()'),
	('SELECT shuttle.index_row()');
GRANT SELECT ON strange.statements TO functions_stranger;
SET ROLE functions_stranger;
CREATE TABLE strange.mine (id int);
SELECT statement, strange.outcome(statement) FROM strange.statements ORDER BY n;
SELECT shuttle.adopt_server('n1');
SELECT shuttle.release_server('n1');
RESET ROLE;
-- a second trigger of a reference table would repeat its changes twice
GRANT TRIGGER, INSERT ON copied TO functions_stranger;
SET ROLE functions_stranger;
CREATE TRIGGER again AFTER INSERT ON shop.copied FOR EACH ROW EXECUTE FUNCTION shuttle.copy_change();
INSERT INTO shop.copied VALUES (7);
RESET ROLE;
DROP TRIGGER again ON copied;
SELECT relation, kind FROM shuttle.tables ORDER BY relation::text;
SELECT * FROM item;
DROP SCHEMA shop, strange CASCADE;
DROP ROLE functions_stranger;
