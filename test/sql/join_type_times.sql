-- Dates and times, of one type and mixed, in several time zones.
\getenv test PG_ABS_SRCDIR
\i :test/include/helpers.sql
CREATE TABLE a AS SELECT i AS id, date '2024-10-25' + i % 5 AS d, timestamp '2024-10-27 01:00' + i * interval '20 minutes' AS ts,
	timestamptz '2024-10-26 23:00+00' + i * interval '20 minutes' AS tz, time '01:00' + i * interval '20 minutes' AS t,
	(time '01:00' + i * interval '20 minutes')::text::timetz AS ttz, i * interval '12 hours' AS iv FROM generate_series(1, 30) i
UNION ALL SELECT 90, 'infinity', '-infinity', 'infinity', '24:00', '24:00+00', '1 year';
CREATE TABLE b AS SELECT id + 100 AS id, d, ts, tz, t, ttz, iv FROM a WHERE id % 3 > 0 OR id = 90;
CALL test.mirror('b');
CREATE TABLE pairs (t1 text, t2 text);
INSERT INTO pairs VALUES ('d', 'd'), ('ts', 'ts'), ('tz', 'tz'), ('t', 't'), ('ttz', 'ttz'), ('iv', 'iv'), ('ts', 'd'), ('d', 'ts'),
	('tz', 'ts'), ('ts', 'tz'), ('tz', 'd');
SET TimeZone = 'Europe/Berlin';
SELECT t1, t2, test.same_rows(format('SELECT a.id, b.id, b.tz FROM a LEFT JOIN b ON b.%s = a.%s', t1, t2)) FROM pairs;
SELECT test.same_rows('SELECT a.id, b.id FROM a LEFT JOIN b ON b.ts = a.d + interval ''2 hours''');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.tz > a.tz - interval ''1 day'' AND b.tz < a.tz');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.d = date_trunc(''day'', a.tz)');
SELECT test.same_rows('SELECT a.id, b.id FROM a JOIN b ON b.d = (a.tz AT TIME ZONE ''America/New_York'')::date');
SET TimeZone = 'Pacific/Kiritimati';
SET DateStyle = 'German';
SELECT t1, t2, test.same_rows(format('SELECT a.id, b.id, b.tz FROM a LEFT JOIN b ON b.%s = a.%s', t1, t2)) FROM pairs;
