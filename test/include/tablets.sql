\set ECHO none
-- Three empty storage nodes: databases of this server, so the query node reaches
-- them over the loopback interface.
\set QUIET on
SET client_min_messages = warning;
\ir clean.sql
CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE;
SELECT format('DROP DATABASE IF EXISTS tablets_n%s WITH (FORCE)', i),
	format('CREATE DATABASE tablets_n%s TEMPLATE template0', i),
	format('DROP SERVER IF EXISTS n%s CASCADE', i),
	format('CREATE SERVER n%s FOREIGN DATA WRAPPER shuttle OPTIONS (host %L, port %L, dbname ''tablets_n%s'')',
		i, split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), i),
	format('CREATE USER MAPPING FOR PUBLIC SERVER n%s OPTIONS (user %L)', i, current_user)
FROM generate_series(1, 3) AS i
\gexec
CREATE SCHEMA shop;
SET search_path = shop;
RESET client_min_messages;
\set QUIET off
\set ECHO all
\set VERBOSITY terse
