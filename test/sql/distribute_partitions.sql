-- A partitioned table with rows is distributed, and every statement goes on as on one of this server.
\getenv test PG_ABS_SRCDIR
\i :test/include/tablets.sql
\i :test/include/routed.sql
SELECT count(*) > 0 FROM shuttle.use_node('n1');
SELECT count(*) > 0 FROM shuttle.use_node('n2');
SELECT count(*) > 0 FROM shuttle.use_node('n3');

-- twins: events here is distributed, plain.events is not
CREATE SCHEMA plain;
CREATE FUNCTION make(schema text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', schema || ', shop', true);
	CREATE TABLE events (
		id int, gone int, device_id int NOT NULL, at date NOT NULL, kind text DEFAULT 'k', value numeric CHECK (value < 1000000),
		twice numeric GENERATED ALWAYS AS (value * 2) STORED, PRIMARY KEY (device_id, at, id, kind)) PARTITION BY RANGE (at);
	ALTER TABLE events DROP COLUMN gone;
	CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	CREATE TABLE events_3 (at date NOT NULL, value numeric CONSTRAINT events_value_check CHECK (value < 1000000), kind text DEFAULT 'k3' NOT NULL, device_id int NOT NULL, id int NOT NULL,
		twice numeric GENERATED ALWAYS AS (value * 2) STORED);
	ALTER TABLE events ATTACH PARTITION events_3 FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
	CREATE TABLE events_4 PARTITION OF events FOR VALUES FROM ('2026-04-01') TO ('2026-05-01') PARTITION BY LIST (kind);
	CREATE TABLE events_4_a PARTITION OF events_4 FOR VALUES IN ('a');
	CREATE TABLE events_4_rest PARTITION OF events_4 DEFAULT PARTITION BY HASH (id);
	CREATE TABLE events_4_rest_0 PARTITION OF events_4_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE events_4_rest_1 PARTITION OF events_4_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	CREATE TABLE events_default PARTITION OF events DEFAULT;
	CREATE INDEX events_value ON events (value);
	INSERT INTO events (id, device_id, at, kind, value)
		SELECT i, i % 17, '2026-01-01'::date + i % 130, (ARRAY['a', 'b', 'k'])[1 + i % 3], i * 1.5 FROM generate_series(1, 600) AS i;
	CREATE TABLE devices (id int PRIMARY KEY, name text);
	INSERT INTO devices SELECT i, 'd' || i FROM generate_series(0, 20) AS i;
END $$;
SELECT make('shop'), make('plain');
SET search_path = shop;
CREATE TABLE before AS SELECT oid, relname FROM pg_class WHERE relname ~ '^events' AND relnamespace = 'shop'::regnamespace;

-- true if both have the same rows, in the same partitions
CREATE FUNCTION same() RETURNS bool LANGUAGE plpgsql AS $$
DECLARE part text; equal bool := true; found bool;
BEGIN
	FOR part IN SELECT c.relname FROM pg_class AS c WHERE relnamespace = 'plain'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1 LOOP
		EXECUTE format('SELECT NOT EXISTS ((SELECT %3$s FROM shop.%1$I EXCEPT ALL SELECT %3$s FROM plain.%1$I) UNION ALL
			(SELECT %3$s FROM plain.%1$I EXCEPT ALL SELECT %3$s FROM shop.%1$I))', part, '',
			(SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) FROM pg_attribute
				WHERE attrelid = ('plain.' || part)::regclass AND attnum > 0 AND NOT attisdropped)) INTO found;
		IF NOT found THEN RAISE NOTICE '% differs', part; END IF;
		equal := equal AND found;
	END LOOP;
	RETURN equal;
END $$;
-- runs a statement on both, and says if the answers are the same (RETURNING too)
CREATE FUNCTION twin(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answers text[]; answer text; state text;
BEGIN
	FOR i IN 1 .. 2 LOOP
		PERFORM set_config('search_path', CASE i WHEN 1 THEN 'shop' ELSE 'plain, shop' END, true);
		BEGIN
			IF statement ~* '^(SELECT|(INSERT|UPDATE|DELETE).*RETURNING)' THEN
				EXECUTE CASE WHEN statement ~* '^SELECT' THEN format('SELECT coalesce(string_agg(t::text, '' '' ORDER BY t::text), ''none'') FROM (%s) AS t', statement)
					ELSE format('WITH t AS (%s) SELECT coalesce(string_agg(t::text, '' '' ORDER BY t::text), ''none'') FROM t', statement) END INTO answer;
			ELSE
				EXECUTE statement;
				answer := 'done';
			END IF;
		EXCEPTION WHEN OTHERS THEN answer := SQLSTATE;
		END;
		answers := answers || answer;
	END LOOP;
	PERFORM set_config('search_path', 'shop', true);
	RETURN CASE WHEN answers[1] IS DISTINCT FROM answers[2] THEN format('DIFFERENT: %s | %s', left(answers[1], 200), left(answers[2], 200))
		WHEN length(answers[1]) <= 40 THEN answers[1] ELSE 'same' END;
END $$;

SELECT shuttle.distribute_table('events', 'value', tablets => 4);
SELECT shuttle.distribute_table('events', 'device_id', tablets => 4);
SELECT shuttle.distribute_table('devices', 'id', colocate_with => 'events_1');
SELECT relation, kind, key, tablets FROM shuttle.tables ORDER BY relation::text COLLATE "C";
SELECT count(DISTINCT group_id) FROM shuttle.tables;
SELECT count(*) AS tablets, count(DISTINCT node) AS nodes FROM shuttle.tablets WHERE relation::text ~ '^events';
SELECT b.relname, c.oid IS NOT NULL AS kept FROM before AS b LEFT JOIN pg_class AS c USING (oid) WHERE c.oid IS NULL;
SELECT inhrelid::regclass, pg_get_expr(relpartbound, c.oid) FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid
WHERE inhparent = 'events'::regclass ORDER BY 1;
SELECT same();
SELECT * FROM shuttle.check();

-- statements that read
SELECT twin('SELECT * FROM events');
SELECT twin('SELECT * FROM events WHERE device_id = 7 ORDER BY id');
SELECT twin('SELECT * FROM events WHERE at = ''2026-02-03'' ORDER BY id');
SELECT twin('SELECT * FROM events WHERE at = ''2026-02-03'' AND device_id = 7');
SELECT twin('SELECT count(*), sum(value), min(at) FROM events');
SELECT twin('SELECT kind, count(*), avg(value) FROM events WHERE at >= ''2026-02-15'' GROUP BY kind');
SELECT twin('SELECT d.name, count(*), max(e.value) FROM devices AS d JOIN events AS e ON e.device_id = d.id GROUP BY d.name');
SELECT twin('SELECT d.name, e.id FROM devices AS d LEFT JOIN events AS e ON e.device_id = d.id AND e.at = ''2026-04-05''');
SELECT twin('SELECT d.name FROM devices AS d WHERE EXISTS (SELECT FROM events AS e WHERE e.device_id = d.id AND e.at > ''2026-04-30'')');
SELECT twin('SELECT d.id, l.id FROM devices AS d, LATERAL (SELECT id FROM events AS e WHERE e.device_id = d.id ORDER BY at DESC, id LIMIT 2) AS l');
SELECT twin('SELECT a.id, b.id FROM events AS a JOIN events AS b USING (device_id, at) WHERE a.at < ''2026-01-05''');
SELECT twin('SELECT id, row_number() OVER (PARTITION BY device_id ORDER BY at, id) FROM events WHERE device_id IN (3, 5)');
SELECT twin('SELECT * FROM events_3');
SELECT twin('SELECT * FROM events_4 WHERE kind = ''a'' AND id < 300');
SELECT twin('SELECT * FROM events_4_rest');

-- statements that write
SELECT twin('INSERT INTO events (id, device_id, at, value) VALUES (1000, 7, ''2026-01-20'', 1), (1001, 8, ''2026-03-20'', 2), (1002, 9, ''2027-01-20'', 3) RETURNING *');
SELECT twin('INSERT INTO events (id, device_id, at, kind, value) SELECT id + 2000, device_id, at + 31, ''z'', value FROM events WHERE id < 60 RETURNING id, at, twice');
SELECT twin('INSERT INTO events (id, device_id, at) VALUES (1000, 7, ''2026-01-20'')');
SELECT twin('INSERT INTO events (id, device_id, at, value) VALUES (1003, 7, ''2026-01-20'', 1e9)');
SELECT twin('INSERT INTO events_1 (id, device_id, at) VALUES (1004, 7, ''2026-02-20'')');
SELECT twin('INSERT INTO events_1 (id, device_id, at) SELECT 1005, 7, ''2026-02-20''::date');
SELECT twin('INSERT INTO events_1 (id, device_id, at) SELECT id + 3000, device_id, at + 40 FROM events_1 WHERE device_id = 7');
SELECT twin('INSERT INTO events_1 (id, device_id, at) SELECT id + 3000, device_id, at FROM events_1 WHERE device_id = 7 RETURNING *');
SELECT twin('INSERT INTO events (id, device_id, at, value) VALUES (1000, 7, ''2026-01-20'', 5), (1006, 7, ''2026-01-20'', 6) ON CONFLICT (device_id, at, id, kind) DO UPDATE SET value = EXCLUDED.value + 1 RETURNING *');
SELECT twin('INSERT INTO events (id, device_id, at, value) VALUES (1000, 7, ''2026-01-20'', 5) ON CONFLICT DO NOTHING');
SELECT twin('INSERT INTO events (id, device_id, at, value) VALUES (1000, 7, ''2026-01-20'', 5) ON CONFLICT (device_id, at, id, kind) DO NOTHING RETURNING *');
SELECT twin('INSERT INTO events (id, device_id, at, value) VALUES (1000, 7, ''2026-01-20'', 5) ON CONFLICT (device_id, id) DO NOTHING');
SELECT twin('INSERT INTO events_2 (id, device_id, at, value) VALUES (1010, 7, ''2026-02-20'', 5), (1010, 8, ''2026-02-20'', 5) ON CONFLICT (device_id, at, id, kind) DO UPDATE SET value = 9');
SELECT twin('INSERT INTO events_2 (id, device_id, at, value) VALUES (1010, 7, ''2026-03-20'', 5) ON CONFLICT (device_id, at, id, kind) DO UPDATE SET value = 9');
SELECT twin('UPDATE events SET value = value + 1 WHERE device_id = 7 RETURNING id, value');
SELECT twin('UPDATE events SET value = value + 1');
SELECT same();
SELECT twin('UPDATE events SET at = at + 31 WHERE device_id IN (1, 2, 3) RETURNING id, at');
SELECT twin('UPDATE events SET device_id = device_id + 1 WHERE at < ''2026-01-10'' RETURNING id, device_id');
SELECT twin('UPDATE events SET device_id = device_id + 5, at = at + 45, kind = ''a'' WHERE id % 7 = 0 RETURNING id');
SELECT twin('UPDATE events SET kind = ''b'' WHERE kind = ''a'' AND at >= ''2026-04-01'' RETURNING id');
SELECT same();
SELECT twin('UPDATE events_1 SET at = at + 31 WHERE device_id = 7');
SELECT twin('UPDATE events_1 SET at = ''2026-02-01'' WHERE device_id = 7 AND id = 1000');
SELECT twin('UPDATE events_1 SET at = ''2026-01-02'' WHERE device_id = 7 AND id = 1000 RETURNING *');
SELECT twin('UPDATE events_4 SET kind = ''q'', id = id + 1 WHERE device_id = 8');
SELECT twin('UPDATE events_4_a SET kind = ''b'' WHERE device_id = 8');
SELECT twin('UPDATE events AS e SET value = -1 FROM devices AS d WHERE d.id = e.device_id AND d.name = ''d4'' RETURNING e.id, d.name');
SELECT twin('DELETE FROM events WHERE device_id = 11 AND at = ''2026-02-12'' RETURNING *');
SELECT twin('DELETE FROM events AS e USING devices AS d WHERE d.id = e.device_id AND d.name = ''d5'' AND at > ''2026-03-01'' RETURNING e.id');
SELECT twin('DELETE FROM events WHERE at BETWEEN ''2026-04-20'' AND ''2026-05-03''');
SELECT twin('MERGE INTO events AS e USING (SELECT 7 AS device_id, ''2026-01-20''::date AS at, i AS id FROM generate_series(990, 1010) AS i) AS s'
	' ON e.device_id = s.device_id AND e.at = s.at AND e.id = s.id WHEN MATCHED AND s.id = 1000 THEN DELETE WHEN MATCHED THEN UPDATE SET value = 77'
	' WHEN NOT MATCHED THEN INSERT (id, device_id, at, value) VALUES (s.id, s.device_id, s.at, 5)');
SELECT twin('MERGE INTO events_1 AS e USING (VALUES (7)) AS s (d) ON e.device_id = s.d AND e.id = 1001 WHEN NOT MATCHED THEN INSERT (id, device_id, at) VALUES (1, 7, ''2026-09-09'')');
SELECT twin('WITH gone AS (DELETE FROM events WHERE device_id = 12 RETURNING *) INSERT INTO events (id, device_id, at, value) SELECT id, 13, at + 1, value FROM gone');
SELECT same();

COPY events (id, device_id, at, kind, value) FROM STDIN;
20001	7	2026-01-20	a	1
20002	8	2026-04-20	a	2
20003	9	2026-04-20	c	3
20004	9	2030-04-20	c	4
\.
COPY plain.events (id, device_id, at, kind, value) FROM STDIN;
20001	7	2026-01-20	a	1
20002	8	2026-04-20	a	2
20003	9	2026-04-20	c	3
20004	9	2030-04-20	c	4
\.
COPY events_1 (id, device_id, at) FROM STDIN;
20005	7	2026-02-20
\.
SELECT same();
BEGIN;
SELECT id FROM events WHERE device_id = 7 AND at = '2026-01-20' ORDER BY id LIMIT 2 FOR UPDATE;
ROLLBACK;

-- routed: both keys are fixed, and leave one partition with the table's columns
CREATE FUNCTION make_logs(schema text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('search_path', schema || ', shop', true);
	CREATE TABLE logs (id int, device_id int, at timestamptz, what text, PRIMARY KEY (device_id, at, id, what)) PARTITION BY RANGE (at);
	CREATE TABLE logs_1 PARTITION OF logs FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
	CREATE TABLE logs_2 PARTITION OF logs FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
	CREATE TABLE logs_4 PARTITION OF logs FOR VALUES FROM ('2026-04-01') TO ('2026-05-01') PARTITION BY LIST (what);
	CREATE TABLE logs_4_a PARTITION OF logs_4 FOR VALUES IN ('a');
	CREATE TABLE logs_4_b PARTITION OF logs_4 FOR VALUES IN ('b');
	CREATE TABLE logs_default PARTITION OF logs DEFAULT;
	INSERT INTO logs SELECT i, i % 7, '2026-01-01'::timestamptz + i * '6 hours'::interval, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END FROM generate_series(0, 700) AS i;
END $$;
SELECT make_logs('shop'), make_logs('plain');
SET search_path = shop;
SELECT shuttle.distribute_table('logs', 'device_id', colocate_with => 'devices');
CREATE FUNCTION routed(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN CASE WHEN is_routed(query) THEN 'routed ' ELSE 'not ' END || twin(query);
END $$;
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at = ''2026-01-01 18:00''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at >= ''2026-01-20'' AND at < ''2026-02-01''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at >= ''2026-01-20'' AND at <= ''2026-02-01''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at > ''2026-02-01'' AND ''2026-02-20'' > at');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at BETWEEN ''2026-02-01'' AND ''2026-02-20'' ORDER BY at');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at >= ''2026-01-20''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at < ''2026-01-20''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at = ''2026-03-20''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at = ''2029-03-20''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at >= ''2026-04-02'' AND at < ''2026-04-04''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at >= ''2026-04-02'' AND at < ''2026-04-04'' AND what = ''a''');
SELECT routed('SELECT * FROM logs WHERE device_id = 3 AND at >= ''2026-04-02'' AND at < ''2026-04-04'' AND what = ''c''');
SELECT routed('SELECT l.id, d.name FROM logs AS l JOIN devices AS d ON d.id = l.device_id WHERE d.id = 3 AND l.at BETWEEN ''2026-01-01'' AND ''2026-01-20''');
SELECT routed('SELECT d.name, (SELECT count(*) FROM logs AS l WHERE l.device_id = d.id AND at = ''2026-01-01 18:00'') FROM devices AS d WHERE d.id = 3');
SELECT routed('SELECT a.id, b.id FROM logs AS a, logs AS b WHERE a.device_id = 3 AND b.device_id = 3 AND a.at = ''2026-01-01 18:00'' AND b.at = ''2026-02-01''');
SELECT routed('SELECT a.id FROM logs AS a, logs_1 AS b WHERE a.device_id = 3 AND b.device_id = 3 AND a.at = ''2026-01-01 18:00'' AND a.at = b.at');
SELECT routed('SELECT a.id FROM devices AS d LEFT JOIN logs AS a ON a.device_id = d.id AND at = ''2026-01-01 18:00'' WHERE d.id = 4');
SELECT routed('SELECT * FROM logs_1 WHERE device_id = 3 AND id < 100');
SELECT routed('SELECT * FROM logs_4 WHERE device_id = 3 AND what = ''a''');
SELECT routed('UPDATE logs SET what = ''u'' WHERE device_id = 3 AND at = ''2026-01-01 18:00'' RETURNING *');
SELECT routed('UPDATE logs_1 SET what = ''v'' WHERE device_id = 3 AND id = 3 RETURNING *');
SELECT routed('UPDATE logs_1 SET at = at + ''1 month'' WHERE device_id = 3 AND id = 3');
SELECT routed('UPDATE logs SET at = at + ''1 month'' WHERE device_id = 3 AND at = ''2026-01-01 18:00'' RETURNING *');
SELECT routed('UPDATE logs_4_a SET what = ''b'' WHERE device_id = 3');
SELECT routed('DELETE FROM logs WHERE device_id = 4 AND at = ''2026-01-02'' RETURNING *');
SELECT routed('DELETE FROM logs WHERE device_id = 5 AND at = ''2026-04-05'' AND what = ''a''');
SELECT routed('INSERT INTO logs_2 SELECT id, device_id, at, what FROM logs_1 WHERE device_id = 3');
SELECT routed('INSERT INTO logs_2 SELECT id, device_id, at + ''1 month'', what FROM logs_1 WHERE device_id = 3 AND id < 50');
SELECT same();
PREPARE one(int, timestamptz) AS SELECT count(*), min(id) FROM logs WHERE device_id = $1 AND at = $2;
EXECUTE one(6, '2026-01-02 12:00');
EXECUTE one(1, '2026-02-03 00:00');
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF, VERBOSE) EXECUTE one(6, '2026-01-02 12:00');
EXECUTE one(6, '2026-01-02 12:00');
RESET plan_cache_mode;
-- whose rights count: those on the table that the statement names
ALTER USER MAPPING FOR PUBLIC SERVER n1 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (ADD password_required 'false');
ALTER USER MAPPING FOR PUBLIC SERVER n3 OPTIONS (ADD password_required 'false');
CREATE ROLE partitions_reader;
GRANT USAGE ON SCHEMA shop TO partitions_reader;
GRANT SELECT ON logs TO partitions_reader;
SET ROLE partitions_reader;
SELECT id FROM logs WHERE device_id = 6 AND at = '2026-01-02 12:00';
SELECT id FROM logs_1 WHERE device_id = 6 AND at = '2026-01-02 12:00';
DELETE FROM logs WHERE device_id = 6 AND at = '2026-01-02 12:00';
RESET ROLE;
REVOKE SELECT ON logs FROM partitions_reader;
GRANT SELECT ON logs_1 TO partitions_reader;
SET ROLE partitions_reader;
SELECT id FROM logs WHERE device_id = 6 AND at = '2026-01-02 12:00';
SELECT id FROM logs_1 WHERE device_id = 6 AND at = '2026-01-02 12:00';
RESET ROLE;
DROP OWNED BY partitions_reader;
DROP ROLE partitions_reader;
EXPLAIN (COSTS OFF) SELECT * FROM logs WHERE at = '2026-01-20';

-- emptied, and brought back
SELECT twin('TRUNCATE events_2');
SELECT same();
SELECT * FROM shuttle.check();
SELECT shuttle.local_table('events_3');
SELECT same();
SELECT kind FROM shuttle.tables WHERE relation = 'events_3'::regclass;
SELECT twin('UPDATE events SET at = at + 31 WHERE device_id IN (1, 2, 3) RETURNING id, at');
SELECT same();
SELECT shuttle.distribute_table('events_3', 'id');
SELECT shuttle.distribute_table('events_3', 'device_id');
SELECT same();
SELECT shuttle.local_tables('{events, logs}');
SELECT same();
SELECT relation, kind FROM shuttle.tables ORDER BY 1;
SELECT c.relname, c.relkind FROM pg_class AS c WHERE relnamespace IN ('shop'::regnamespace, 'shuttle_tablets'::regnamespace) AND relkind NOT IN ('r', 'p', 'I', 'i');
SELECT count(*) FROM pg_index AS i WHERE indrelid::regclass::text ~ '^events' AND NOT indisvalid;
SELECT b.relname FROM before AS b LEFT JOIN pg_class AS c USING (oid) WHERE c.oid IS NULL;
INSERT INTO events (id, device_id, at) SELECT id, device_id, at FROM events LIMIT 1;
SELECT twin('TRUNCATE events');
SELECT same();
SET client_min_messages = warning;
DROP SCHEMA plain, shop CASCADE;
SELECT server, result FROM shuttle.run_on_nodes('SELECT count(*) FROM pg_class WHERE relname ~ ''^(events|devices)''', '{n1,n2,n3}');
SELECT count(*) FROM shuttle.tables;
