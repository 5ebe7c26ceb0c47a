-- Numbers: mixed widths, numeric scales, NaN, infinities and minus zero.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, (i % 5)::int2 AS i2, i % 5 AS i4, (i % 5)::int8 AS i8,
	(ARRAY[1, 1.0, 1.00, 2.5, 0, 'NaN', 12345678901234567890.5])[1 + i % 7]::numeric AS n,
	(ARRAY['1', '-0', '0', 'NaN', 'Infinity', '0.1', '1e-300', '-Infinity'])[1 + i % 8]::float8 AS f8,
	(ARRAY['1', '-0', '0', 'NaN', '0.1', '1e-30'])[1 + i % 6]::float4 AS f4,
	(i % 5)::oid AS o, i % 2 = 0 AS bool, (i % 5)::numeric::money AS money, (i % 5)::bit(4) AS bits, (i % 5)::bit(4)::varbit AS varbits
FROM generate_series(1, 56) i;
CREATE TABLE b AS SELECT id + 100 AS id, i2, i4, i8, n, f8, f4, o, bool, money, bits, varbits FROM a WHERE id > 20
UNION ALL SELECT 200 + i, -i, -i, -i, -i, -i, -i, 100 + i, NULL, NULL, NULL, NULL FROM generate_series(1, 5) i;
CALL test.mirror('b');
SELECT t1, t2, test.same_rows(format('SELECT a.id, b.id FROM a LEFT JOIN b ON b.%s = a.%s', t1, t2))
FROM unnest('{i2,i4,i8,n}'::text[]) AS t1, unnest('{i2,i4,i8,n}'::text[]) AS t2;
SELECT t1, t2, test.same_rows(format('SELECT a.id, a.%2$s, b.id, b.%1$s FROM a LEFT JOIN b ON b.%1$s = a.%2$s', t1, t2))
FROM (VALUES ('f8', 'f8'), ('f4', 'f4'), ('f8', 'f4'), ('f4', 'f8'), ('f8', 'i4'), ('i4', 'f8'), ('f8', 'n'),
	('o', 'o'), ('o', 'i4'), ('bool', 'bool'), ('money', 'money'), ('bits', 'bits'), ('varbits', 'varbits')) AS v (t1, t2);
-- values whose equality does not show: the text of the answer does
SELECT test.same_rows('SELECT a.id, b.n + a.n, b.f8, a.f8 FROM a JOIN b ON b.n = a.n AND b.f8 = a.f8');
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, a.n::text || '' '' || b.n::text FROM b WHERE b.n = a.n OFFSET 0) s');
-- the key itself comes back in the inner row
SELECT test.same_rows('SELECT a.id, s.* FROM a, LATERAL (SELECT b.id, a.n AS n, a.f8 AS f FROM b WHERE b.i4 = a.i4 LIMIT 1) s');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON trim_scale(b.n) = a.n AND scale(b.n) = scale(a.n)');
