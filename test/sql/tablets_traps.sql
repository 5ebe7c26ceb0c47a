-- What stands on other nodes for the rows of a tablet has a name of its own: the tablet's name leads nowhere
-- where the tablet is not, so that a statement made before a move fails there; and it follows the table's name.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE TABLE account (id int PRIMARY KEY, v int);
CREATE TABLE entry (account int REFERENCES account, id int, PRIMARY KEY (account, id));
INSERT INTO account SELECT i, i FROM generate_series(1, 40) AS i;
INSERT INTO entry SELECT i, i FROM generate_series(1, 40) AS i;
SELECT shuttle.distribute_tables('{account.id, entry.account}', tablets => 4);
CREATE FUNCTION add_to(key int, n int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE result int;
BEGIN
	UPDATE account SET v = v + n WHERE id = key RETURNING v INTO result;
	INSERT INTO entry SELECT key, 1 + max(id) FROM entry WHERE account = key;
	RETURN result;
END $$;
SELECT shuttle.distribute_function('add_to(int, int)', 'key', 'account');
SELECT add_to(i, 1) FROM generate_series(1, 4) AS i;
CREATE VIEW on_nodes AS SELECT server, r ->> 'relname' AS name, r ->> 'trap' AS is_trap
FROM shuttle.run_on_nodes($$SELECT relname, EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND conname = 'shuttle_trap') AS trap
	FROM pg_class AS c WHERE relnamespace = 'shop'::regnamespace AND relkind = 'r'$$) AS n, LATERAL json_array_elements(n.result::json) AS r;
SELECT server, name, is_trap FROM on_nodes ORDER BY 2, 1;
-- the same names for a new table, with its own traps; also if one had the tablet's name, as they once had
SELECT server, ok FROM shuttle.run_on_nodes('ALTER TABLE shop.account_trap0 RENAME TO account_t0', '{n2}');
ALTER TABLE account RENAME TO old_account;
CREATE TABLE account (id int PRIMARY KEY, v int);
SELECT shuttle.distribute_table('account', 'id', colocate_with => 'old_account');
INSERT INTO account SELECT i, 0 FROM generate_series(1, 40) AS i;
SELECT add_to(i, 1) FROM generate_series(1, 4) AS i;
SELECT server, name, is_trap FROM on_nodes WHERE name ~ 'account' ORDER BY 2, 1;
SELECT sum(v) FROM account;
SELECT count(*), sum(v) FROM old_account;
SELECT * FROM shuttle.check();
DROP TABLE entry, old_account, account;
SELECT count(*) FROM on_nodes;
