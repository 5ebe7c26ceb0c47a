# A connection that is lost, at every place where it can be: nobody sees it where
# nothing of the transaction was done; else an error that names the node, and the
# next transaction connects again.  trap 16: there is one connection a session,
# node and mapping.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', 'restart_after_crash = on');
$far->start;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off\nshuttle.enable_row_counts = off");
$node->start;
my $proxy = ShuttleProxy->new($far);
my $port = $proxy->port;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my ($own_host, $own_port) = ($node->host, $node->port);

my $far_schema = q{
	CREATE SCHEMA node;
	SET search_path = node;
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 1000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	CREATE FUNCTION nap(seconds float8) RETURNS int LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(seconds); RETURN 1; END';
	CREATE VIEW slow AS SELECT id, node.nap(60) AS n FROM numbers;
	CREATE VIEW slow_later AS SELECT id, CASE WHEN id > 15 THEN node.nap(60) ELSE 0 END AS n FROM numbers;
	CREATE TABLE slow_to_write AS SELECT 17 AS id;
	CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
	CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON slow_to_write FOR EACH ROW EXECUTE FUNCTION take_time();
	CREATE TABLE slow_to_commit (id int);
	CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow_to_commit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION take_time();
	ANALYZE;};
$far->safe_psql('postgres', $far_schema);
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$port', dbname 'postgres', shuttle_two_phase 'off');
	CREATE SERVER near FOREIGN DATA WRAPPER shuttle OPTIONS (host '$own_host', port '$own_port', dbname 'postgres', shuttle_two_phase 'off');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER near OPTIONS (user '$user');
	CREATE SCHEMA f;
	IMPORT FOREIGN SCHEMA node FROM SERVER far INTO f;
	SET search_path = f, public;
	ALTER DATABASE postgres SET search_path = f, public;
	CREATE TABLE here (id int PRIMARY KEY);
	CREATE FOREIGN TABLE near_here (id int) SERVER near OPTIONS (schema_name 'f', table_name 'here');
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 100) i;
	ANALYZE wanted;
	CREATE FUNCTION local(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
});
# IMPORT went over a connection of its own session.
$proxy->connections;

my $control = ShuttleSession->new($far, 'postgres');
my $ours = q{FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'};
my $session = ShuttleSession->new($node, 'postgres');
my $lost = qr/^ERROR:  08006: connection to storage node "far" was lost$/m;
my $in_doubt = qr/^ERROR:  08007: connection to storage node "far" was lost\n(?:.*\n)*HINT:  It was lost during COMMIT\./m;

sub one
{
	my ($one_session, $sql) = @_;
	my ($out, $err) = $one_session->run($sql);
	return $err eq '' ? $out : "$out$err";
}

# Ways to lose it.
my %losses = (
	'dropped' => sub { $proxy->drop; },
	'terminated' => sub { $control->run("SELECT pg_terminate_backend(pid, 10000) $ours;"); },
);

sub is_right
{
	my $label = shift;
	is(one($session, 'SELECT count(*) FROM numbers;'), 1000, "$label: the next transaction connects again");
	ok($control->poll("SELECT count(*) = 1 $ours"), "$label: one connection");
	return;
}

# Under the first packet of a transaction: a line that breaks says nothing, and
# the packet is sent again, once.
sub lose_first
{
	my ($how, $label) = @_;
	my ($asked) = $control->run("SELECT pid $ours AND wait_event = 'PgSleep';");
	$losses{$how}->();
	return if $how eq 'terminated';
	ok($control->poll("SELECT count(*) > 0 $ours AND wait_event = 'PgSleep' AND pid <> $asked"),
		"$label: is asked again");
	$losses{$how}->();
	return;
}

my $batched = 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 4;';
my $pages = 'SET shuttle.fetch_limit = 10;';

for my $how (sort keys %losses)
{
	my $lose = $losses{$how};

	# Idle: nobody sees it, whatever comes next.
	for my $next (
		[ 'SELECT count(*) FROM numbers;', '1000' ],
		[ 'SELECT n FROM numbers WHERE id = 13;', '3' ],
		[ 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM numbers; COMMIT;', '1000' ],
		[ "INSERT INTO written VALUES (1, 'x') RETURNING id; DELETE FROM written;", '1' ],
		[ "BEGIN; SAVEPOINT a; SELECT count(*) FROM numbers; RELEASE a; COMMIT;", '1000' ],
		[ "$batched SELECT count(*) FROM wanted a JOIN numbers b ON b.id = a.id; RESET ALL;", '100' ],
		[ 'ANALYZE numbers;', '' ],
		[ 'TRUNCATE written;', '' ],
		[ "COPY written FROM stdin;\n5\tfive\n\\.\nDELETE FROM written RETURNING id;", '5' ])
	{
		$session->run('SELECT count(*) FROM numbers;');
		$lose->();
		is(one($session, $next->[0]), $next->[1], "$how, idle, then $next->[0]");
		is_right("$how, idle, then $next->[0]");
	}

	# In a transaction, between statements.
	for my $first (
		'SELECT count(*) FROM numbers;',
		'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM numbers;',
		q{INSERT INTO written VALUES (1, 'lost');},
		'SELECT id FROM numbers WHERE id = 3 FOR UPDATE;',
		q{SAVEPOINT a; INSERT INTO written VALUES (1, 'lost'); RELEASE a;})
	{
		for my $next ('SELECT count(*) FROM numbers;', q{INSERT INTO written VALUES (2, 'never');},
			'SAVEPOINT b; UPDATE written SET v = v;')
		{
			my $label = "$how, in a transaction, $first then $next";
			$session->run("BEGIN; $first INSERT INTO here VALUES (1);");
			$lose->();
			my ($out, $err) = $session->run($next);
			like($err, $lost, $label);
			$session->run('COMMIT;');
			is(one($session, 'SELECT count(*) FROM here;'), 0, "$label: rolled back here");
			is(one($session, 'SELECT count(*) FROM written;'), 0, "$label: and there");
		}
	}
	is_right("$how, in a transaction");

	# While an answer, or a part of it, is awaited.
	for my $wait (
		[ '', 'SELECT count(n) FROM slow;', 'first' ],
		[ $pages, 'SELECT count(n) FROM slow_later;', 'first' ],
		[ $batched, 'SELECT count(b.n) FROM wanted a JOIN slow_later b ON b.id = a.id;', 'first' ],
		[ $batched, 'SELECT b.n FROM wanted a JOIN slow_later b ON b.id = a.id LIMIT 30;', 'first' ],
		[ '', 'INSERT INTO slow_to_write VALUES (1), (2);', 'first' ],
		[ '', 'UPDATE slow_to_write SET id = 1 WHERE local(id) = 17;', 'later' ],
		[ '', 'ANALYZE slow;', 'later' ],
		[ '', 'INSERT INTO slow_to_commit VALUES (1);', 'commit' ])
	{
		my ($settings, $statement, $when) = @$wait;
		my $label = "$how, in $statement";
		$session->run($settings);
		$session->send($statement);
		ok($control->poll("SELECT count(*) > 0 $ours AND wait_event = 'PgSleep'"), "$label: waits");
		if ($when eq 'first') { lose_first($how, $label); }
		else { $lose->(); }
		my ($out, $err) = $session->result;
		like($err, $how eq 'dropped' && $when eq 'commit' ? $in_doubt : $lost, $label);
		$session->run('RESET ALL;');
		$control->run("SELECT pg_terminate_backend(pid, 10000) $ours AND state = 'active';");
		is_right($label);
	}

	# In a savepoint, which then rolls back.
	for my $first ('', 'SELECT count(*) FROM numbers;',
		'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM numbers;',
		q{INSERT INTO written VALUES (1, 'lost');})
	{
		my $label = "$how, in a savepoint after '$first'";
		my $keeps = $first eq '';
		$session->run("BEGIN; $first SAVEPOINT a;");
		$session->send('SELECT count(n) FROM slow;');
		ok($control->poll("SELECT count(*) > 0 $ours AND wait_event = 'PgSleep'"), "$label: waits");
		if ($keeps) { lose_first($how, $label); }
		else { $lose->(); }
		my ($out, $err) = $session->result;
		like($err, $lost, $label);
		$control->run("SELECT pg_terminate_backend(pid, 10000) $ours AND state = 'active';");
		($out, $err) = $session->run('ROLLBACK TO a; SELECT count(*) FROM numbers;');
		if ($keeps) { is("$out$err", '1000', "$label: nothing was lost"); }
		else { like($err, $lost, "$label: the transaction of the node is lost"); }
		($out, $err) = $session->run('ROLLBACK TO a; SELECT 1; COMMIT;');
		like("$out\n$err", $first =~ /INSERT/ ? $lost : qr/^1\n$/, "$label: commit");
		is(one($session, 'SELECT count(*) FROM written;'), 0, "$label: nothing written");
		is_right($label);
	}

	# A cursor that was open before does not go on as if nothing had happened.
	for my $isolation ('READ COMMITTED', 'REPEATABLE READ')
	{
		my $label = "$how, cursor, $isolation";
		$session->run("$pages BEGIN ISOLATION LEVEL $isolation;");
		is(one($session, 'DECLARE c CURSOR FOR SELECT id FROM numbers; FETCH 3 FROM c;'), "1\n2\n3", "$label: first rows");
		$session->run('SAVEPOINT a;');
		$lose->();
		my ($out, $err) = $session->run(q{INSERT INTO written VALUES (3, 'never');});
		like($err, $lost, $label);
		($out, $err) = $session->run('ROLLBACK TO a; FETCH 100 FROM c;');
		like("$out\n$err", qr/^(?:(?:\d+\n)*)\n?ERROR:  08006: connection to storage node "far" was lost/,
			"$label: fetch");
		$session->run('ROLLBACK; RESET ALL;');
		is_right($label);
	}

	# COMMIT of what was written.
	for my $first (q{INSERT INTO written VALUES (1, 'lost');}, 'SELECT id FROM numbers WHERE id = 3 FOR UPDATE;',
		'UPDATE written SET v = v;')
	{
		my $label = "$how, commit after $first";
		$session->run("BEGIN; INSERT INTO here VALUES (1); INSERT INTO near_here VALUES (2); $first");
		$lose->();
		my ($out, $err) = $session->run('COMMIT;');
		like($err, $lost, $label);
		is(one($session, 'SELECT count(*) FROM here;'), 0, "$label: rolled back here");
		is(one($session, 'SELECT count(*) FROM written;'), 0, "$label: and there");
	}

	# The same while COMMIT is on its way, and of a transaction that only read.
	$session->run('BEGIN; INSERT INTO here VALUES (1); INSERT INTO slow_to_commit VALUES (1);');
	$session->send('COMMIT;');
	ok($control->poll("SELECT count(*) > 0 $ours AND wait_event = 'PgSleep'"), "$how, in COMMIT: waits");
	$lose->();
	my ($out, $err) = $session->result;
	like($err, $how eq 'dropped' ? $in_doubt : $lost, "$how, in COMMIT");
	is(one($session, 'SELECT count(*) FROM here;'), 0, "$how, in COMMIT: rolled back here");
	$control->run("SELECT pg_terminate_backend(pid, 10000) $ours AND state = 'active';");
	$session->run('BEGIN; SELECT count(*) FROM numbers; INSERT INTO here VALUES (1);');
	$lose->();
	is(one($session, 'COMMIT; DELETE FROM here RETURNING id;'), 1, "$how, commit after reads");
	is_right("$how, commit");
}

# A backend that dies takes its server with it.
{
	my ($pid) = $session->run('SELECT count(*) FROM numbers; BEGIN; SELECT count(*) FROM numbers;');
	($pid) = $control->run("SELECT pid $ours;");
	ShuttleSession::kill_backend($far, $pid, sub {
		my ($out, $err) = $session->run('SELECT count(*) FROM numbers;');
		like($err, $lost, 'killed');
		$session->run('ROLLBACK;');
	});
	$control = ShuttleSession->new($far, 'postgres');
	is_right('killed');
}

# The node is restarted, or away for a while.
{
	$control->quit;
	$far->stop('immediate');
	$far->start;
	$control = ShuttleSession->new($far, 'postgres');
	is_right('restarted');

	$session->run(q{BEGIN; INSERT INTO here VALUES (1); INSERT INTO written VALUES (1, 'lost');});
	$control->quit;
	$far->stop('immediate');
	my ($out, $err) = $session->run('COMMIT;');
	like($err, $lost, 'stopped: commit');
	for my $statement ('SELECT count(*) FROM numbers;', q{INSERT INTO written VALUES (1, 'never');}, 'ANALYZE numbers;',
		'BEGIN; SELECT count(*) FROM numbers;', 'ROLLBACK; SELECT count(*) FROM wanted, numbers;')
	{
		($out, $err) = $session->run($statement);
		like($err, qr/^ERROR:  08001: could not connect to server "far"\nDETAIL: .*\nHINT: /s, "stopped: $statement");
	}
	is(one($session, 'SELECT count(*) FROM here;'), 0, 'stopped: local work goes on');
	$far->start;
	$control = ShuttleSession->new($far, 'postgres');
	is_right('started again');
	is(one($session, 'SELECT count(*) FROM written;'), 0, 'started again: nothing was written');
}

# Connections that end at once.
{
	$session->run('SELECT count(*) FROM numbers;');
	$proxy->refuse(1);
	$proxy->drop;
	my ($out, $err) = $session->run('SELECT count(*) FROM numbers;');
	like($err, qr/^ERROR:  08001: could not connect to server "far"/, 'refused');
	($out, $err) = $session->run("INSERT INTO written VALUES (1, 'never');");
	like($err, qr/^ERROR:  08001: could not connect to server "far"/, 'refused again');
	$proxy->refuse(0);
	is_right('not refused');
}

# trap 16: whatever one transaction does, it has one connection.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	$session->quit;
	ok($control->poll("SELECT count(*) = 0 $ours"), 'the end of a session closes its connection');
	$proxy->connections;
	my $mixed = q{
		SELECT count(*) FROM numbers;
		SELECT count(*) FROM numbers a JOIN numbers b ON a.id = local(b.id);
		SELECT count(*) FROM wanted w JOIN numbers b ON b.id = w.id JOIN slow_to_write s ON true;
		INSERT INTO written VALUES (1, 'a'), (2, 'b');
		SELECT v FROM written WHERE id = 1 FOR UPDATE;
		UPDATE written SET v = 'c' WHERE id = 1;
		UPDATE written SET v = 'd' WHERE local(id) = 1;
		ANALYZE numbers;
		ALTER FOREIGN TABLE numbers OPTIONS (ADD shuttle_remote_estimate 'true');
		SELECT count(*) FROM numbers WHERE n = 3;
		EXPLAIN SELECT * FROM numbers a JOIN written b USING (id);
		ALTER FOREIGN TABLE numbers OPTIONS (DROP shuttle_remote_estimate);
		CREATE SCHEMA again;
		IMPORT FOREIGN SCHEMA node LIMIT TO (numbers) FROM SERVER far INTO again;
		SELECT count(*) FROM again.numbers;
		DROP SCHEMA again CASCADE;
		DELETE FROM written WHERE local(id) = 2;
		TRUNCATE slow_to_write;
		TRUNCATE written;};
	for my $begin ('BEGIN;', 'BEGIN ISOLATION LEVEL REPEATABLE READ;', '')
	{
		my ($out, $err) = $fresh->run("SET client_min_messages = warning; $begin $mixed");
		is($err, '', "all kinds of statements: $begin");
		is(one($control, "SELECT count(*) $ours;"), 1, "one connection: $begin");
		$fresh->run('COMMIT;') if $begin;
	}
	is($proxy->connections, 1, 'no other was ever opened');
	is(one($fresh, 'SELECT count(*) FROM postgres_fdw_get_connections() AS c;'), 0, 'none by postgres_fdw');

	# Another mapping is another connection.
	$far->safe_psql('postgres', 'CREATE ROLE other LOGIN; GRANT USAGE ON SCHEMA node TO other; GRANT ALL ON ALL TABLES IN SCHEMA node TO other;');
	$fresh->run(qq{
		CREATE ROLE other;
		CREATE USER MAPPING FOR other SERVER far OPTIONS (user 'other', password_required 'false');
		GRANT USAGE ON SCHEMA f TO other;
		GRANT ALL ON ALL TABLES IN SCHEMA f TO other;
		CREATE VIEW by_other AS SELECT * FROM numbers;
		ALTER VIEW by_other OWNER TO other;});
	is(one($fresh, 'SELECT count(*) FROM by_other a JOIN numbers b ON b.id = local(a.id);'), 1000, 'two mappings');
	is(one($control, "SELECT string_agg(usename, ',' ORDER BY usename = 'other') $ours;"), "$user,other", 'two connections');
	$fresh->quit;
	ok($control->poll("SELECT count(*) = 0 $ours"), 'both end with the session');
}

$control->quit;
$node->stop;
$far->stop;
done_testing();
