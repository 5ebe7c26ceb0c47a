# Faults in the middle of a batch, over both transports: a cancel, a time limit,
# a connection that is lost, an error of one key.  Nothing is left behind, and the
# session goes on.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE DATABASE far');
$node->safe_psql('far', q{
	CREATE TABLE b AS SELECT i AS id, i AS k FROM generate_series(1, 100) i;
	CREATE TABLE written (id int);
	CREATE FUNCTION gate(i int) RETURNS int LANGUAGE plpgsql STABLE AS
		'BEGIN IF i = 40 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN i; END';
	CREATE FUNCTION fail(i int) RETURNS int LANGUAGE plpgsql STABLE AS
		'BEGIN IF i = 40 THEN RAISE EXCEPTION ''forty''; END IF; RETURN i; END';
	CREATE VIEW gated AS SELECT id, k, public.gate(id) AS v FROM b;
	CREATE VIEW failing AS SELECT id, k, public.fail(id) AS v FROM b;
	ANALYZE b;
});
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'far');
	CREATE SERVER engine FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER guest OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER engine OPTIONS (user '$user');
	CREATE SCHEMA guest;
	CREATE SCHEMA engine;
	IMPORT FOREIGN SCHEMA public FROM SERVER guest INTO guest;
	IMPORT FOREIGN SCHEMA public FROM SERVER engine INTO engine;
	CREATE TABLE a AS SELECT i AS id, i AS k FROM generate_series(1, 90) i;
	ANALYZE a;
});

my $holder = ShuttleSession->new($node, 'far');
my $others = "FROM pg_stat_activity WHERE datname = 'far' AND pid <> " . $holder->pid . ' AND backend_type = \'client backend\' AND pid <> pg_backend_pid()';
my $gated = 'SELECT count(*), sum(g.v) FROM a JOIN gated g ON g.k = a.k;';
my $good = 'SELECT count(*), sum(b.id) FROM a JOIN b ON b.k = a.k;';
my $failing = 'SELECT count(*), sum(f.v) FROM a JOIN failing f ON f.k = a.k;';

foreach my $transport (qw(guest engine))
{
	foreach my $batch_size (7, 1024)
	{
		my $session = ShuttleSession->new($node, 'postgres');
		my $label = "$transport, batch size $batch_size";
		my $pid = $session->pid;
		$session->run("SET search_path = $transport, public; SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = $batch_size;");

		# Runs the join up to its gate, lets something happen there, and returns
		# what it says.
		my $within = sub {
			my ($name, $happens) = @_;
			$holder->run('SELECT pg_advisory_lock(7);');
			$session->send($gated);
			ok($holder->poll("SELECT count(*) = 1 $others AND wait_event = 'advisory'"), "$label, $name: at the gate");
			$happens->();
			my ($out, $err) = $session->result;
			$holder->run('SELECT pg_advisory_unlock(7);');
			return "$out$err";
		};
		my $cancel = sub { $holder->run("SELECT pg_cancel_backend($pid);") };
		my $terminate = sub { $holder->run("SELECT pg_terminate_backend(pid) $others AND wait_event = 'advisory';") };

		is(join('', $session->run($good)), '90|4095', "$label: without a fault");
		like($within->('cancel', $cancel), qr/ERROR:  57014/, "$label: cancel");
		is(join('', $session->run($good)), '90|4095', "$label: after a cancel");

		$session->run("SET statement_timeout = '500ms';");
		like($within->('time limit', sub { }), qr/ERROR:  57014/, "$label: time limit");
		$session->run('SET statement_timeout = 0;');
		is(join('', $session->run($good)), '90|4095', "$label: after a time limit");

		like($within->('lost', $terminate), qr/ERROR:  (?:57P01|08)/, "$label: connection lost");
		is(join('', $session->run($good)), '90|4095', "$label: after a lost connection");

		# in a transaction that has written, below a savepoint
		$session->run('BEGIN; INSERT INTO written VALUES (1); SAVEPOINT s;');
		like($within->('cancel below a savepoint', $cancel), qr/ERROR:  57014/, "$label: cancel below a savepoint");
		is(join('', $session->run("ROLLBACK TO s; $good")), '90|4095', "$label: after ROLLBACK TO SAVEPOINT");
		like(join('', $session->run("SAVEPOINT t; $failing")), qr/ERROR:  P0001: forty/, "$label: error of one key");
		is(join('', $session->run("ROLLBACK TO t; $good")), '90|4095', "$label: after the error");
		is(join('', $session->run('SELECT count(*) FROM written; COMMIT;')), '1', "$label: what was written before");
		is($node->safe_psql('far', 'SELECT count(*) FROM written'), '1', "$label: is committed");
		$session->run('BEGIN; SAVEPOINT s;');
		like($within->('lost below a savepoint', $terminate), qr/ERROR:  (?:57P01|08)/, "$label: connection lost below a savepoint");
		$session->run('ROLLBACK; DELETE FROM written;');
		is(join('', $session->run($good)), '90|4095', "$label: the next transaction");

		# the rows in front of the key that fails are what a LIMIT takes
		like(join('', $session->run($failing)), qr/ERROR:  P0001: forty/, "$label: error");
		is(join('', $session->run('SELECT sum(x.v) FROM (SELECT f.v FROM (SELECT k FROM a ORDER BY id OFFSET 0) s JOIN failing f ON f.k = s.k LIMIT 5) x;')),
			'15', "$label: nobody comes to the error");

		ok($holder->poll("SELECT count(*) <= 1 $others"), "$label: one connection at most");
		ok( $holder->poll("SELECT count(*) = 0 FROM pg_locks WHERE locktype IN ('advisory', 'transactionid') AND pid <> " . $holder->pid),
			"$label: no locks");
		is(join('', $session->run('SELECT count(*) FROM pg_cursors;')), '0', "$label: no portals");
	}
}
$node->stop;
done_testing();
