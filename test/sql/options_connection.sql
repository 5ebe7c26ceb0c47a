-- Options of connections are taken where postgres_fdw takes them, whatever this
-- version and libpq know, and reach libpq: GSSAPI, TLS, several hosts.
\getenv test PG_ABS_SRCDIR
\i :test/include/loopback.sql
\set ECHO none
CALL test.loopback('stock', 'postgres_fdw');
CALL test.loopback('ours');
CREATE TABLE test.item AS SELECT 1 AS id;
CREATE FOREIGN TABLE item (id int) SERVER ours OPTIONS (schema_name 'test');
CREATE FUNCTION test.accepted(kind text, server text, name text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	command text := CASE kind WHEN 'server' THEN 'ALTER SERVER %I' ELSE 'ALTER USER MAPPING FOR CURRENT_USER SERVER %I' END;
	state text;
BEGIN
	state := (test.raised(format(command || ' OPTIONS (ADD %I %L)', server, name, value))).state;
	IF state = 'none' THEN
		EXECUTE format(command || ' OPTIONS (DROP %I)', server, name);
	END IF;
	RETURN state;
END $$;
\set ECHO all
CREATE TABLE taken AS
SELECT kind, name, test.accepted(kind, 'stock', name, value) AS stock, test.accepted(kind, 'ours', name, value) AS ours
FROM (VALUES ('gssencmode', 'disable'), ('krbsrvname', 'postgres'), ('gsslib', 'gssapi'), ('gssdelegation', '1'),
	('sslmode', 'verify-full'), ('sslrootcert', '/none'), ('sslcert', '/none'), ('sslkey', '/none'), ('sslpassword', 'x'),
	('ssl_min_protocol_version', 'TLSv1.2'), ('channel_binding', 'prefer'), ('require_auth', 'scram-sha-256'),
	('target_session_attrs', 'read-write'), ('load_balance_hosts', 'random'), ('hostaddr', '127.0.0.1'), ('passfile', '/none'),
	('service', 'x'), ('options', '-c geqo=off'), ('keepalives_idle', '5'), ('tcp_user_timeout', '5'), ('connect_timeout', '5'),
	('replication', 'database'), ('fallback_application_name', 'x'), ('client_encoding', 'UTF8'), ('use_scram_passthrough', 'true'),
	('password_required', 'false'), ('oauth_issuer', 'x'), ('sslkeylogfile', '/none')) AS o (name, value), (VALUES ('server'), ('mapping')) AS k (kind);
SELECT * FROM taken WHERE stock <> ours;
SELECT kind, name FROM taken WHERE ours = 'none' AND name IN ('gssencmode', 'krbsrvname', 'sslkey', 'sslmode', 'target_session_attrs', 'sslpassword') ORDER BY 1, 2;
SELECT (ours = 'none') = (current_setting('server_version_num')::int >= 160000) AS from_16_on FROM taken WHERE kind = 'server' AND name = 'gssdelegation';

-- they are passed on
SELECT count(*) FROM item;
ALTER SERVER ours OPTIONS (ADD gssencmode 'require');
SELECT state, concat(message, detail) ~ 'GSSAPI' AS told FROM test.raised('SELECT count(*) FROM item');
ALTER SERVER ours OPTIONS (SET gssencmode 'prefer', ADD krbsrvname 'postgres');
SELECT count(*) FROM item;
DROP TABLE taken, test.item;
DROP FOREIGN TABLE item;
DROP SERVER ours CASCADE;
DROP SERVER stock CASCADE;
