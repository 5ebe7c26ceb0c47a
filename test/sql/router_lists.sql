-- Statements whose keys are lists of constants go to a node as a whole if it has all these keys;
-- rows, counts and errors are those of the statements of here, and of plain tables.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
SELECT count(*) > 0 AS added FROM shuttle.use_node('n1');
SELECT count(*) > 0 AS added FROM shuttle.use_node('n2');
CREATE SCHEMA plain;
CREATE TABLE orders (customer int, id int, amount numeric(6,1), PRIMARY KEY (customer, id));
CREATE TABLE item (customer bigint, id int, note text, PRIMARY KEY (customer, id), CHECK (id < 1000));
CREATE TABLE word (spelled varchar(10) PRIMARY KEY, n int);
INSERT INTO orders SELECT i % 8 + 1, i / 8, i FROM generate_series(1, 100) AS i;
INSERT INTO item SELECT i % 8 + 1, i / 8, 'old ' || i FROM generate_series(1, 60) AS i;
INSERT INTO word SELECT 'w' || i, i FROM generate_series(1, 8) AS i;
SELECT format('CREATE TABLE plain.%1$s (LIKE %1$s INCLUDING ALL)', t), format('INSERT INTO plain.%1$s SELECT * FROM %1$s', t)
FROM unnest('{orders,item,word}'::text[]) AS t
\gexec
SET client_min_messages = warning;
SELECT shuttle.distribute_table('orders', 'customer', tablets => 4);
SELECT shuttle.distribute_table('item', 'customer', tablets => 4);
SELECT shuttle.distribute_table('word', 'spelled', tablets => 4);
RESET client_min_messages;
\i :test/include/compared.sql
CREATE FUNCTION run_once(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	found text[];
BEGIN
	found := answer(query);
	RETURN found || array(SELECT o::text FROM orders o ORDER BY customer, id) || array(SELECT i::text FROM item i ORDER BY customer, id);
END $$;

-- keys of the first customer's node, and of the other one
CREATE FUNCTION server_of(tables regclass, key anyelement) RETURNS name LANGUAGE sql AS $$
	SELECT srvname FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid JOIN pg_foreign_table f ON ftrelid = inhrelid JOIN pg_foreign_server s ON s.oid = ftserver
	WHERE inhparent = tables AND satisfies_hash_partition(inhparent, 4, substring(relname FROM '\d+$')::int, key) $$;
SELECT string_agg(i::text, ',') FILTER (WHERE server_of('orders', i) = server_of('orders', 1)) AS same,
	string_agg(i::text, ',') FILTER (WHERE server_of('orders', i) <> server_of('orders', 1)) AS other,
	min(i) FILTER (WHERE server_of('orders', i) <> server_of('orders', 1)) AS another,
	max(i) FILTER (WHERE server_of('orders', i) = server_of('orders', 1)) AS last
FROM generate_series(1, 8) AS i \gset
SELECT string_agg(quote_literal('w' || i), ',') AS words FROM generate_series(1, 8) AS i WHERE server_of('word', 'w' || i) = server_of('word', 'w1'::text) \gset
CREATE TABLE public.tried (n serial, query text);
INSERT INTO public.tried (query) SELECT replace(replace(replace(replace(replace(q, '{same}', :'same'), '{other}', :'other'), '{another}', :'another'), '{last}', :'last'), '{words}', :'words')
FROM unnest(ARRAY[
	'SELECT o.id, rank() OVER (ORDER BY amount) FROM orders o WHERE customer IN ({same}) RETURNING',
	'WITH x AS (SELECT customer, count(*) AS n FROM orders WHERE customer = ANY (''{ {same} }'') GROUP BY ROLLUP (customer)) SELECT * FROM x ORDER BY 1, 2',
	'WITH x AS (SELECT * FROM orders WHERE customer = {last} OR customer = 1 ORDER BY amount DESC LIMIT 7) SELECT x.id, i.note FROM x LEFT JOIN item i ON i.customer = x.customer AND i.id = x.id AND i.customer IN ({same}) ORDER BY 1, 2',
	'WITH x AS (SELECT 1) SELECT o.customer, o.id, i.note FROM orders o JOIN item i ON i.customer = o.customer AND i.id = o.id WHERE o.customer IN ({same}) ORDER BY 1, 2, 3',
	'WITH x AS (SELECT 1) SELECT o.customer, (SELECT count(*) FROM item i WHERE i.customer = o.customer) FROM orders o WHERE o.customer IN (1, NULL, {last}, 1) ORDER BY 1, 2',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer IN (NULL, NULL)',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer = ANY (''{}'')',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer IN ({same}, {another})',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer IN ({same}, {another}) AND o.customer = {another}',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o JOIN item i ON i.customer = o.customer WHERE i.customer = {another} AND o.customer IN ({same}, {another})',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer NOT IN ({same})',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer IN ({same}) OR o.id = 1',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer = 1 OR o.id = {last}',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer <= ANY (''{ {same} }'')',
	'WITH x AS (SELECT 1) SELECT count(*) FROM item i WHERE i.customer IN (1::bigint, {last})',
	'WITH x AS (SELECT 1) SELECT count(*) FROM item i WHERE i.customer = ANY (ARRAY[1::smallint, {last}]::bigint[])',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE false AND o.customer IN (1, 1 / 0)',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE false AND o.customer IN (1, 100000::smallint)',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer = 1 AND false AND (o.id = 1 OR o.id = 1 / 0)',
	'WITH x AS (SELECT * FROM item WHERE id = ANY (ARRAY[1, 1 / 0])) SELECT count(*) FROM orders WHERE customer = 1',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE false AND o.customer = 1 / 0',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders o WHERE o.customer = 1 + 1',
	'WITH x AS (SELECT * FROM item WHERE customer = 1 / 0) SELECT count(*) FROM orders WHERE customer = 1',
	'WITH x AS (SELECT 1) SELECT count(*) FROM orders WHERE customer = 1 AND (false AND EXISTS (SELECT FROM item WHERE customer = 1 / 0))',
	'DELETE FROM orders WHERE false AND customer = 1 / 0',
	'WITH x AS (SELECT 1) SELECT count(*), string_agg(spelled, '' '' ORDER BY n) FROM word WHERE spelled IN ({words})',
	'WITH x AS (SELECT 1) SELECT count(*), max(c) FROM (SELECT customer AS c, sum(amount) AS s FROM orders GROUP BY customer) AS summed WHERE c IN ({same})',
	'WITH x AS (SELECT 1) SELECT count(*) FROM (SELECT customer AS c FROM orders ORDER BY amount LIMIT 20) AS few WHERE c IN ({same})',
	'WITH x AS (SELECT 1) SELECT count(*), count(i.id) FROM orders o FULL JOIN item i ON i.customer = o.customer AND i.customer IN ({same}) AND o.id = i.id',
	'UPDATE orders SET amount = amount + 1 WHERE customer IN ({same}) AND id < 5',
	'UPDATE orders o SET amount = (SELECT count(*) FROM item i WHERE i.customer = o.customer) WHERE customer IN ({same})',
	'UPDATE item SET id = id + 1 WHERE customer IN ({same})',
	'UPDATE orders SET customer = 1 WHERE customer IN ({same})',
	'WITH x AS (DELETE FROM orders WHERE customer = ANY (ARRAY[{same}]) AND id % 2 = 0 RETURNING customer, id) SELECT * FROM x ORDER BY 1, 2',
	'DELETE FROM item i USING orders o WHERE o.customer = i.customer AND o.id = i.id AND o.customer IN ({same})',
	'INSERT INTO item SELECT customer, id + 500, ''put'' FROM orders WHERE customer IN ({same})',
	'INSERT INTO item SELECT customer, id, ''put'' FROM orders WHERE customer IN ({same}) ON CONFLICT (customer, id) DO UPDATE SET note = excluded.note || item.note',
	'INSERT INTO item SELECT customer, 2000, ''put'' FROM orders WHERE customer IN ({same}) AND id = 1']) AS q;
UPDATE public.tried SET query = 'WITH x AS (' || replace(query, ' RETURNING', '') || ') SELECT * FROM x ORDER BY 1, 2' WHERE query LIKE 'SELECT%';
SELECT query AS statement, compare(query) FROM public.tried ORDER BY n;
DROP TABLE public.tried;

-- keys in parameters are not known when the statement is planned
PREPARE two(int, int) AS SELECT count(*) FROM orders WHERE customer IN ($1, $2);
EXPLAIN (COSTS OFF) EXECUTE two(1, :last);
EXECUTE two(1, :last);
EXECUTE two(1, :another);
SELECT * FROM shuttle.check();
DROP SCHEMA shop CASCADE;
