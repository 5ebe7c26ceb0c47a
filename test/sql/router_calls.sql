-- Calls of distributed functions and procedures are executed by the node that has their rows; answers,
-- changes, notices and errors are those of the same calls executed here.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SET DateStyle = 'ISO, MDY';
SET IntervalStyle = postgres;
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE item (id int PRIMARY KEY, price numeric(10,2), name text);
CREATE TABLE account (id int PRIMARY KEY, name text, balance numeric(12,2) NOT NULL CHECK (balance >= 0));
CREATE TABLE entry (account int, no int, item int, amount numeric(12,2), note text, at timestamptz, PRIMARY KEY (account, no));
INSERT INTO item SELECT i, i * 1.5, 'item ' || i FROM generate_series(1, 20) AS i;
INSERT INTO account SELECT i, 'a' || i, 100 FROM generate_series(1, 40) AS i;
INSERT INTO entry SELECT i % 40 + 1, i, i % 20 + 1, i, 'n' || i % 3 FROM generate_series(1, 200) AS i;
SET client_min_messages = warning;
SELECT shuttle.reference_table('item');
SELECT shuttle.distribute_tables('{account.id, entry.account}', tablets => 4);
RESET client_min_messages;

-- ---- functions of all kinds
CREATE FUNCTION balance_of(a int) RETURNS numeric LANGUAGE sql AS 'SELECT balance FROM account WHERE id = a';
CREATE FUNCTION entries_of(a int, above int DEFAULT 0) RETURNS TABLE (no int, item text, amount numeric) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT e.no, i.name, e.amount FROM entry e JOIN item i ON i.id = e.item
		WHERE e.account = a AND e.no >= above ORDER BY e.no;
END $$;
CREATE FUNCTION buy(a int, what int, OUT number int, OUT rest numeric) LANGUAGE plpgsql AS $$
DECLARE
	it record;
	changed int;
BEGIN
	SELECT * INTO it FROM item WHERE id = what;
	UPDATE account SET balance = balance - it.price WHERE id = a RETURNING balance INTO rest;
	GET DIAGNOSTICS changed = ROW_COUNT;
	IF changed = 0 THEN
		RAISE EXCEPTION 'no account %', a USING ERRCODE = 'P0002';
	END IF;
	SELECT coalesce(max(no), 0) + 1 INTO number FROM entry WHERE account = a;
	INSERT INTO entry (account, no, item, amount, note) VALUES (a, number, what, it.price, to_char(it.price, 'FM990.00'));
	RAISE NOTICE 'sold % to %', it.name, a;
END $$;
-- both accounts may be on one node, or not
CREATE FUNCTION transfer(a int, b int, sum numeric) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET balance = balance - sum WHERE id = a;
	UPDATE account SET balance = balance + sum WHERE id = b;
	IF NOT FOUND THEN
		RETURN 'nobody';
	END IF;
	RETURN 'done';
EXCEPTION WHEN check_violation THEN
	RAISE NOTICE 'too poor';
	RETURN 'refused ' || SQLSTATE;
WHEN OTHERS THEN
	RETURN 'other';
END $$;
CREATE FUNCTION rich_of(accounts int[], a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	r record;
	n int := 0;
BEGIN
	FOR r IN SELECT id, balance FROM account WHERE id = ANY (accounts) LOOP
		IF r.balance > 50 THEN
			n := n + 1;
		END IF;
	END LOOP;
	RETURN n;
END $$;
CREATE PROCEDURE close_account(a int, INOUT n int, OUT last numeric) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM entry WHERE account = a;
	GET DIAGNOSTICS n = ROW_COUNT;
	SELECT balance INTO last FROM account WHERE id = a;
	UPDATE account SET balance = 0, name = CASE n WHEN 0 THEN 'none' WHEN 5 THEN 'five' ELSE 'many' END WHERE id = a;
EXCEPTION WHEN serialization_failure OR deadlock_detected THEN
	ROLLBACK;
END $$;
CREATE PROCEDURE touch(a int) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET name = name || '!' WHERE id = a;
END $$;
CREATE FUNCTION nested(a int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE c CURSOR (x int) FOR SELECT amount FROM entry WHERE account = a AND no > x ORDER BY no;
	s numeric := balance_of(a);
BEGIN
	FOR r IN c(10) LOOP
		s := s + r.amount;
	END LOOP;
	RETURN s;
END $$;
CREATE FUNCTION stamp(a int) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
	UPDATE entry SET at = now() WHERE account = a AND no = (SELECT min(no) FROM entry WHERE account = a);
	RETURN FOUND;
END $$;
-- a length is no part of an argument's type
CREATE FUNCTION named(a int, n char(2), INOUT v varchar(1)) LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET name = n WHERE id = a RETURNING name || v INTO v;
END $$;
CREATE FUNCTION nothing(a int) RETURNS void LANGUAGE sql AS 'UPDATE account SET name = name WHERE id = a';
-- what cannot run on a node
CREATE FUNCTION total() RETURNS numeric LANGUAGE sql AS 'SELECT sum(balance) FROM account';
CREATE FUNCTION no_key(a int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM entry WHERE amount > a';
CREATE FUNCTION dynamic(a int) RETURNS numeric LANGUAGE plpgsql AS
	$$DECLARE r numeric; BEGIN EXECUTE 'SELECT balance FROM account WHERE id = $1' INTO r USING a; RETURN r; END $$;
CREATE FUNCTION message(a int) RETURNS text LANGUAGE plpgsql AS
	$$BEGIN UPDATE account SET balance = -1 WHERE id = a; RETURN ''; EXCEPTION WHEN OTHERS THEN RETURN SQLERRM; END $$;
CREATE FUNCTION who(a int) RETURNS text LANGUAGE sql AS 'SELECT name || current_user FROM account WHERE id = a';
CREATE FUNCTION definer(a int) RETURNS text SECURITY DEFINER LANGUAGE sql AS 'SELECT name FROM account WHERE id = a';
CREATE PROCEDURE commits(a int) LANGUAGE plpgsql AS $$BEGIN UPDATE account SET name = 'c' WHERE id = a; COMMIT; END $$;
CREATE FUNCTION changes_item(a int) RETURNS int LANGUAGE plpgsql AS
	$$BEGIN UPDATE item SET price = price WHERE id = (SELECT item FROM entry WHERE account = a LIMIT 1); RETURN 1; END $$;
-- each of these would go wrong without an error
CREATE FUNCTION by_category(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET balance = balance + 1 WHERE id = b;
	RETURN 'yes';
EXCEPTION WHEN plpgsql_error THEN
	RETURN 'no';
END $$;
CREATE FUNCTION is_canceled(a int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_sleep(60) FROM account WHERE id = a;
	RETURN 'no';
EXCEPTION WHEN operator_intervention THEN
	RETURN (SELECT name FROM account WHERE id = a);
END $$;
CREATE FUNCTION of_outer(a int, b int) RETURNS text LANGUAGE sql AS
	'SELECT string_agg(c.name, '','' ORDER BY i.id) FROM item i LEFT JOIN account c ON c.id = i.id AND i.id = b';
CREATE FUNCTION leaves_cursor(a int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE mine CURSOR FOR SELECT no FROM entry WHERE account = a;
BEGIN
	OPEN mine;
	RETURN 1;
END $$;
CREATE DOMAIN seven AS int DEFAULT 7;
CREATE TABLE has_domain (id int PRIMARY KEY, v seven);
SET client_min_messages = warning;
SELECT shuttle.distribute_table('has_domain', 'id', tablets => 4, colocate_with => 'account');
RESET client_min_messages;
CREATE FUNCTION put_domain(a int) RETURNS int LANGUAGE sql AS 'INSERT INTO has_domain (id) VALUES (a) RETURNING v';
CREATE TABLE here (a int);
CREATE FUNCTION uses_here(a int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM account, here WHERE id = uses_here.a';
CREATE FUNCTION joins_far(a int) RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM account c JOIN entry e ON e.account = c.id + 1 WHERE c.id = a';

-- whose keys are arguments, or seem to be
CREATE FUNCTION move_to(a int, b int, sum numeric) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE left_over numeric;
BEGIN
	UPDATE account SET balance = balance - sum WHERE id = a RETURNING balance INTO left_over;
	UPDATE account SET balance = balance + sum WHERE id = b;
	INSERT INTO entry (account, no, item, amount, note) SELECT b, 1000 + n, n, sum, 'moved' FROM unnest(ARRAY[1, 2]) AS n;
	RETURN left_over + (SELECT sum(e.amount) FROM entry e JOIN account c ON c.id = e.account WHERE c.id = b AND e.no > 1000);
END $$;
CREATE FUNCTION of_many(a int, others int[], above int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE names text;
BEGIN
	SELECT string_agg(name || balance, ',' ORDER BY id), array_agg(id ORDER BY id) INTO names, others FROM account
		WHERE id = ANY (others) AND balance > above;
	RETURN names || others::text || (SELECT count(*) FROM entry WHERE account = a);
END $$;
CREATE FUNCTION assigned(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	b := a + b;
	RETURN (SELECT name FROM account WHERE id = b);
END $$;
CREATE FUNCTION assigned_by_query(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE n text;
BEGIN
	SELECT name, id + 1 INTO n, b FROM account WHERE id = b;
	RETURN n || (SELECT name FROM account WHERE id = b);
END $$;
CREATE FUNCTION assigned_in_loop(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0;
BEGIN
	FOR i IN 1 .. 3 LOOP
		n := n + (SELECT count(*) FROM account WHERE id = b);
		b := b + i;
	END LOOP;
	RETURN n;
END $$;
CREATE FUNCTION assigned_before(a int, b int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE n int := 0;
	r record;
BEGIN
	FOR r IN SELECT no FROM entry WHERE account = a ORDER BY no LOOP
		GET DIAGNOSTICS b = ROW_COUNT;
		n := n + r.no;
	END LOOP;
	FOR b IN 1 .. 2 LOOP
		n := n + 1;
	END LOOP;
	RETURN n + (SELECT count(*) FROM account WHERE id = b);
END $$;
CREATE FUNCTION again(a int, n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF n = 0 THEN
		RETURN (SELECT name FROM account WHERE id = a);
	END IF;
	RETURN (SELECT name FROM account WHERE id = a) || again(a + 1, n - 1);
END $$;
CREATE FUNCTION constant(a int) RETURNS text LANGUAGE plpgsql AS
	$$BEGIN RETURN (SELECT name FROM account WHERE id = a) || (SELECT name FROM account WHERE id = 11); END $$;
CREATE FUNCTION wrong_key(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO account VALUES (a + 100 * b, 'new', 1);
	RETURN 'yes';
EXCEPTION WHEN check_violation THEN
	RETURN 'no';
END $$;
CREATE FUNCTION change_key(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE account SET id = a + 1000 * b WHERE id = a;
	RETURN 'yes';
EXCEPTION WHEN check_violation THEN
	RETURN 'no';
END $$;
CREATE FUNCTION maybe_null(a int, b int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO entry (account, no, item, amount, note) SELECT x.account, 2000, 1, 1, 'null' FROM (VALUES (1)) AS v LEFT JOIN (SELECT a AS account) AS x ON b > 20;
	RETURN 'yes';
EXCEPTION WHEN check_violation THEN
	RETURN 'no';
WHEN not_null_violation THEN
	RETURN 'null';
END $$;
CREATE FUNCTION two_statements(a int, b int) RETURNS numeric LANGUAGE sql AS
	'UPDATE account SET balance = balance + 1 WHERE id = b; SELECT balance FROM account WHERE id = b';

DO $$
DECLARE f regprocedure;
BEGIN
	FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'shop'::regnamespace AND proname IN ('move_to', 'of_many', 'assigned', 'assigned_by_query',
		'assigned_in_loop', 'assigned_before', 'again', 'constant', 'wrong_key', 'change_key', 'maybe_null', 'two_statements', 'balance_of', 'entries_of', 'buy', 'transfer',
		'close_account', 'touch', 'nested', 'stamp', 'named', 'nothing', 'by_category', 'is_canceled', 'of_outer', 'leaves_cursor', 'put_domain', 'no_key', 'dynamic', 'message', 'who', 'definer', 'commits', 'changes_item', 'uses_here', 'joins_far') LOOP
		PERFORM shuttle.distribute_function(f, '$1');
	END LOOP;
	PERFORM shuttle.distribute_function('rich_of(int[], int)', 'a', 'account');
END $$;
SELECT shuttle.distribute_function('total()');

-- ---- where they run
CREATE FUNCTION place_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Node:|Runs Here:' THEN
			RETURN regexp_replace(trim(line), 'n\d$', 'n');
		END IF;
	END LOOP;
	RETURN 'no call';
END $$;
SELECT f, place_of('SELECT * FROM ' || f) FROM unnest('{balance_of(3),entries_of(3),"buy(3, 2)","transfer(3, 4, 5)","rich_of(''{3}'', 3)",
	nested(3),stamp(3),"named(3, ''abc'', ''def'')",nothing(3),"by_category(3, 4)",is_canceled(3),"of_outer(3, 4)",leaves_cursor(3),put_domain(3),no_key(3),dynamic(3),message(3),who(3),definer(3),changes_item(3),uses_here(3),joins_far(3),total()}'::text[]) AS f;
EXPLAIN (COSTS OFF, VERBOSE) SELECT balance_of(3);
EXPLAIN (COSTS OFF, VERBOSE) SELECT amount, no FROM entries_of(3, above => 100);

-- whether the keys are known
CREATE FUNCTION keys_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (VERBOSE) ' || query LOOP
		IF line ~ 'Keys:|Runs Here:' THEN
			RETURN trim(line);
		END IF;
	END LOOP;
END $$;
SELECT f, keys_of('SELECT * FROM ' || f) FROM unnest('{balance_of(3),"buy(3, 2)","move_to(3, 7, 1)","move_to(3, 4, 1)","move_to(3, NULL, 1)","of_many(3, ''{3,7}'', 1)",
	"of_many(3, ''{3,4}'', 1)","of_many(3, ''{3,NULL}'', 1)","assigned(3, 1)","assigned_by_query(3, 7)","assigned_in_loop(3, 7)","assigned_before(3, 7)",
	"again(3, 1)",constant(3),"wrong_key(3, 1)","change_key(3, 1)","maybe_null(3, 7)","two_statements(3, 7)",nested(3),stamp(3)}'::text[]) AS f;
SELECT keys_of(format('SELECT * FROM move_to(3, %s, 1)', b)) AS keys, count(*) FROM generate_series(1, 40) AS b GROUP BY 1 ORDER BY 1;
SELECT keys_of(format('SELECT * FROM of_many(3, ''{3,%s}'', 1)', b)) AS keys, count(*) FROM generate_series(1, 40) AS b GROUP BY 1 ORDER BY 1;

-- ---- the same answers, changes and errors as here
CREATE TABLE before_account AS TABLE account;
CREATE TABLE before_entry AS TABLE entry;
-- rows, SQLSTATE and message, and what it has changed; undone afterwards
CREATE FUNCTION run(statement text, shipped bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	r record;
BEGIN
	PERFORM set_config('shuttle.enable_shipped_calls', shipped::text, true);
	BEGIN
		answer := '';
		IF statement LIKE 'CALL%' THEN
			EXECUTE statement;
		ELSE
			EXECUTE statement INTO r;
			answer := r::text;
		END IF;
		answer := answer || ' ' || coalesce((SELECT string_agg(t::text, ',' ORDER BY t::text) FROM (TABLE account EXCEPT ALL TABLE before_account) AS t), '-')
			|| ' ' || coalesce((SELECT string_agg(ROW(account, no, item, amount, note)::text, ',' ORDER BY 1) FROM (TABLE entry EXCEPT ALL TABLE before_entry) AS t), '-')
			|| ' ' || (SELECT count(*) FROM entry);
		RAISE EXCEPTION 'undo' USING ERRCODE = 'UUUUU';
	EXCEPTION WHEN SQLSTATE 'UUUUU' THEN
		NULL;
	WHEN OTHERS THEN
		answer := SQLSTATE || ' ' || SQLERRM;
	END;
	RETURN answer;
END $$;
SET client_min_messages = warning;
SELECT count(*) AS calls, count(*) FILTER (WHERE a <> b) AS different, min(s || ': ' || a || ' <> ' || b) FILTER (WHERE a <> b) AS first
FROM (SELECT s, run(s, false) AS a, run(s, true) AS b FROM (
	SELECT format('SELECT * FROM balance_of(%s)', i) FROM generate_series(1, 42) AS i
	UNION ALL SELECT format('SELECT * FROM entries_of(%s, %s)', i, i * 2) FROM generate_series(1, 42) AS i
	UNION ALL SELECT format('SELECT rest, number FROM buy(%s, %s)', i, i % 22) FROM generate_series(1, 42) AS i
	UNION ALL SELECT format('SELECT * FROM transfer(%s, %s, %s)', i, j, (i * j) % 130) FROM generate_series(1, 41, 4) AS i, generate_series(1, 41, 5) AS j
	UNION ALL SELECT format('SELECT * FROM rich_of(''{%s,%s}'', %s)', i, i + 1, i) FROM generate_series(1, 20) AS i
	UNION ALL SELECT format('CALL touch(%s)', i) FROM generate_series(1, 42) AS i
	UNION ALL SELECT format('SELECT * FROM %s(%s)', f, i) FROM generate_series(1, 4) AS i,
		unnest('{nested,no_key,dynamic,message,who,definer,changes_item,uses_here,joins_far}'::text[]) AS f
	UNION ALL SELECT format('SELECT * FROM named(%s, ''abcdef'', ''ghijk'')', i) FROM generate_series(1, 10) AS i
	UNION ALL SELECT format('SELECT * FROM %s(%s, %s)', f, i, i * 3) FROM generate_series(1, 10) AS i, unnest('{by_category,of_outer}'::text[]) AS f
	UNION ALL SELECT format('SELECT * FROM %s(%s, %s)', f, i, j) FROM generate_series(1, 9, 4) AS i, generate_series(1, 41, 8) AS j,
		unnest('{assigned,assigned_by_query,assigned_in_loop,assigned_before,wrong_key,change_key,maybe_null,two_statements}'::text[]) AS f
	UNION ALL SELECT format('SELECT * FROM again(%s, %s)', i, j) FROM generate_series(1, 12, 2) AS i, generate_series(0, 2) AS j
	UNION ALL SELECT format('SELECT * FROM constant(%s)', i) FROM generate_series(1, 12, 2) AS i
	UNION ALL SELECT format('SELECT * FROM move_to(%s, %s, %s)', i, j, i * 7) FROM generate_series(1, 20, 6) AS i, generate_series(1, 41, 6) AS j
	UNION ALL SELECT format('SELECT * FROM of_many(%s, ''{%s,%s,%s}'', %s)', i, i, j, i, 20 * i) FROM generate_series(1, 12, 4) AS i, unnest('{3,4,7,8,20,41,NULL}'::text[]) AS j
	UNION ALL SELECT format('SELECT * FROM nothing(%s)', i) FROM generate_series(1, 10) AS i
	UNION ALL SELECT 'SELECT * FROM balance_of(NULL)' UNION ALL SELECT 'SELECT * FROM total()') AS q(s)) AS t;
RESET client_min_messages;
SELECT sum(calls) > 150 AS on_nodes, sum(calls_returned) > 30 AS here_after_all FROM shuttle.node_stats;

-- a handler of a cancel
SET statement_timeout = 200;
SELECT is_canceled(3);
RESET statement_timeout;

-- statements of a client: notices, OUT arguments, errors, parameters
SELECT buy(7, 2);
SELECT nothing(7), nothing(7);
SELECT nothing(7);
SELECT * FROM buy(7, 3);
SELECT buy(99, 3);
CALL close_account(8, NULL, NULL);
CALL close_account(8, NULL, NULL);
SELECT * FROM account WHERE id = 8;
SELECT transfer(9, 9, 1000);
SELECT stamp(10), stamp(11);
SELECT stamp(10);
BEGIN;
SELECT place_of('SELECT * FROM stamp(10)');
SELECT balance_of(10);
SAVEPOINT s;
SELECT * FROM buy(10, 1);
ROLLBACK TO s;
SELECT balance_of(10);
CALL touch(10);
COMMIT;
SELECT name FROM account WHERE id = 10;
PREPARE p (int, int) AS SELECT * FROM buy($1, $2);
EXECUTE p (12, 1);
EXECUTE p (13, 1);
EXECUTE p (14, 1);
EXECUTE p (15, 1);
EXECUTE p (16, 1);
EXECUTE p (17, 1);
EXECUTE p (18, NULL);
CALL commits(19);
SELECT name FROM account WHERE id = 19;

-- ---- other rights, triggers, settings, other tables of that name
CREATE ROLE shuttle_caller;
GRANT USAGE ON SCHEMA shop TO shuttle_caller;
GRANT SELECT ON account TO shuttle_caller;
SET ROLE shuttle_caller;
SELECT place_of('SELECT * FROM balance_of(3)');
RESET ROLE;
DROP OWNED BY shuttle_caller;
DROP ROLE shuttle_caller;
SET DateStyle = 'SQL, DMY';
SELECT place_of('SELECT * FROM balance_of(3)');
SET DateStyle = 'ISO, MDY';
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER t BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION note();
SELECT place_of('SELECT * FROM buy(3, 1)'), place_of('SELECT * FROM balance_of(3)');
DROP TRIGGER t ON account;
ALTER TABLE entry ALTER COLUMN note SET DEFAULT 'x', ALTER COLUMN at SET DEFAULT now();
SELECT place_of('SELECT * FROM buy(3, 1)');
ALTER TABLE entry ALTER COLUMN at DROP DEFAULT;
SELECT place_of('SELECT * FROM buy(3, 1)');
CREATE TEMPORARY TABLE account (id int, balance numeric);
SELECT place_of('SELECT * FROM balance_of(3)');
SELECT balance_of(3) IS NULL AS by_the_temporary_table;
DROP TABLE pg_temp.account;
SELECT place_of('SELECT * FROM balance_of(3)');

-- ---- changed functions, new tables, tables that come back
CREATE OR REPLACE FUNCTION balance_of(a int) RETURNS numeric LANGUAGE sql AS 'SELECT balance + 1000 FROM account WHERE id = a';
SELECT balance_of(3), place_of('SELECT * FROM balance_of(3)');
ALTER FUNCTION balance_of(int) SECURITY DEFINER;
SELECT balance_of(3), place_of('SELECT * FROM balance_of(3)');
ALTER FUNCTION balance_of(int) SECURITY INVOKER;
ALTER FUNCTION balance_of(int) RENAME TO other;
CREATE TABLE later (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('later', 'id', tablets => 4, colocate_with => 'account');
CREATE FUNCTION put(a int, b int) RETURNS int LANGUAGE plpgsql AS
	$$BEGIN INSERT INTO later VALUES (a, 1), (b, 2); RETURN 2; EXCEPTION WHEN OTHERS THEN RETURN 0; END $$;
SELECT shuttle.distribute_function('put(int, int)', 'a', 'later');
SELECT sum(put(i, i + 50)) FROM generate_series(1, 20) AS i;
SELECT count(*) FROM (SELECT put.* FROM generate_series(101, 120) AS i, LATERAL put(i, i + 50)) AS t;
SELECT put(201, 202), put(201, 203);
SELECT put(211, 212);
SELECT put(221, 223);
SELECT count(*), sum(v) FROM later;
SELECT problem FROM shuttle.check();
SELECT shuttle.local_table('later');
SELECT put(231, 232), place_of('SELECT * FROM put(241, 242)');
DROP FUNCTION put(int, int);
SELECT count(*) FROM shuttle.routines WHERE routine LIKE '%put(%';
SELECT place_of('SELECT * FROM nested(3)');
SELECT shuttle.local_function('balance_of(int)');
SELECT place_of('SELECT * FROM balance_of(3)'), place_of('SELECT * FROM nested(3)');

-- ---- a key of two groups, whose rows can be on two nodes
CREATE TABLE paired (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('paired', 'id', tablets => 3);
INSERT INTO paired SELECT i, i FROM generate_series(1, 40) AS i;
CREATE FUNCTION of_pair(a int) RETURNS int LANGUAGE sql AS 'SELECT v FROM paired WHERE id = a';
CREATE FUNCTION of_both(a int) RETURNS bigint LANGUAGE sql AS
	'SELECT count(*) FROM account c JOIN paired p ON p.id = c.id WHERE c.id = a';
SELECT shuttle.distribute_function('of_pair(int)', 'a', 'paired');
SELECT shuttle.distribute_function('of_both(int)', 'a', 'account');
SELECT count(*) > 5 AS on_one_node FROM generate_series(1, 40) AS i WHERE place_of(format('SELECT * FROM of_both(%s)', i)) = 'Node: n';
SELECT count(*) > 5 AS here FROM generate_series(1, 40) AS i WHERE place_of(format('SELECT * FROM of_both(%s)', i)) LIKE '%several nodes%';
SELECT format('SELECT of_both(%s)', i) FROM generate_series(1, 6) AS i \gexec

-- ---- bad input
SELECT shuttle.local_function('balance_of(int)');
SELECT shuttle.distribute_function(NULL);
SELECT shuttle.distribute_function('total()', 'a');
SELECT shuttle.distribute_function('balance_of(int)', 'b');
SELECT shuttle.distribute_function('balance_of(int)', '$2');
SELECT shuttle.distribute_function('balance_of(int)', 'a', 'here');
SELECT shuttle.distribute_function('now()', NULL);
CREATE FUNCTION by_text(a text) RETURNS int LANGUAGE sql AS 'SELECT 1';
SELECT shuttle.distribute_function('by_text(text)', 'a');
SELECT shuttle.distribute_function('by_text(text)', 'a', 'account');
CREATE TABLE other_group (id int PRIMARY KEY);
SELECT shuttle.distribute_table('other_group', 'id', tablets => 2);
SELECT shuttle.distribute_function('balance_of(int)', 'a');
SET client_min_messages = warning;
DROP SCHEMA shop CASCADE;
