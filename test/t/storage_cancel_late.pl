# trap 19: what a cancel must not hit, it does not, however slow the node or the
# cancel is: the savepoint that is rolled back to, the settings of a connection,
# the next statement.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, 1000) i;
	CREATE TABLE written (id int PRIMARY KEY);
	CREATE FUNCTION nap(seconds float8) RETURNS int LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(seconds); RETURN 1; END';

	-- A cancel ends its first nap only.
	CREATE FUNCTION doze() RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM pg_sleep(60);
		RETURN 1;
	EXCEPTION WHEN query_canceled THEN
		PERFORM pg_sleep(0.6);
		RETURN 1;
	END $$;
	CREATE VIEW slow AS SELECT nap(60) AS n;
	CREATE VIEW brief AS SELECT nap(1) AS n;
	CREATE VIEW dozing AS SELECT doze() AS n;
});
$node->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
});
my $control = ShuttleSession->new($node, 'far');
my $ours = q{FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'};

sub cancel
{
	my $session = shift;
	my $pid = $session->pid;
	ok($control->poll("SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid"), 'waits');
	$control->run("SELECT pg_cancel_backend($pid);");
	my ($out, $err) = $session->result;
	like($err, qr/^ERROR:  57014: canceling statement due to user request/, 'is cancelled');
	return;
}

# The node is at the SAVEPOINT when the session is told to cancel.
my $session = ShuttleSession->new($node, 'postgres');
{
	$session->run('BEGIN; INSERT INTO written VALUES (1); SAVEPOINT a;');
	$proxy->stall(300, '^SAVEPOINT s2');
	$session->send('SELECT n FROM slow;');
	cancel($session);
	my ($out, $err) = $session->run('ROLLBACK TO a; INSERT INTO written VALUES (2); COMMIT;');
	is($err, '', 'savepoint: the transaction goes on');
	is(($control->run('SELECT id FROM written ORDER BY id;'))[0], "1\n2", 'savepoint: committed');
}

# And where the node is used for the first time in a savepoint.
{
	$session->run('BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT a;');
	$proxy->stall(300, '^SAVEPOINT s2');
	$session->send('SELECT n FROM slow;');
	cancel($session);
	my ($out, $err) = $session->run('ROLLBACK TO a; SELECT count(*) FROM numbers; COMMIT;');
	is("$out$err", '1000', 'first savepoint: the transaction goes on');
}

# At the settings of a new connection.
{
	my $fresh = ShuttleSession->new($node, 'postgres');
	$fresh->run('BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT a;');
	$proxy->stall(300, 'tcp_keepalives_idle');
	$fresh->send('SELECT n FROM slow;');
	cancel($fresh);
	my ($out, $err) = $fresh->run('ROLLBACK TO a; SELECT count(*) FROM numbers; COMMIT;');
	is("$out$err", '1000', 'settings: the transaction goes on');
}

# A further cancel that comes late, when the statement has ended by itself.
{
	$session->send('SELECT n FROM dozing;');
	$proxy->cancels(1);
	cancel($session);
	$session->send('SELECT n FROM brief;');
	ok($control->poll("SELECT count(*) > 0 $ours AND wait_event = 'PgSleep'"), 'next statement runs');
	$proxy->cancels(-1);
	my ($out, $err) = $session->result;
	is("$out$err", '1', 'late cancel: does not hit the next statement');
}

$session->quit;
$control->quit;
$node->stop;
done_testing();
