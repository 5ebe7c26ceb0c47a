-- trap 5: keys are told apart as they are, not as the session prints them.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, 1 + i * 1e-15::float8 AS f, (1 + i * 1e-7)::float4 AS g, ARRAY[1 + i * 1e-15::float8] AS fs,
	timestamptz '2024-10-27 00:30+00' + i * interval '30 minutes' AS ts, interval '1 second' * i / 1000000 AS iv
FROM generate_series(1, 20) i;
CREATE TABLE b AS SELECT id + 100 AS id, f, g, fs, ts, iv FROM a WHERE id % 2 = 0;
CALL test.mirror('b');
SET extra_float_digits = -5;
SET DateStyle = 'SQL, DMY';
SET IntervalStyle = sql_standard;
SET TimeZone = 'Europe/Berlin';
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.f = a.f');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.g = a.g');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.fs = a.fs');
SELECT test.same_rows('SELECT a.id, b.id, b.ts FROM a LEFT JOIN b ON b.ts = a.ts');
SELECT test.same_rows('SELECT a.id, b.id, b.iv FROM a LEFT JOIN b ON b.iv = a.iv');
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.f >= a.f AND b.f < a.f + 4e-15');
SET bytea_output = escape;
SET lc_monetary = 'C';
SELECT test.same_rows('SELECT a.id, b.id, b.f, b.g, b.fs, b.ts, b.iv FROM a JOIN b ON b.f = a.f');
