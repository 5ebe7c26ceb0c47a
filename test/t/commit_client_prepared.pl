# PREPARE TRANSACTION by a client over nodes and tables here: what is prepared, what others see,
# who may end it, and what is left when a node is away, a server restarts, or the client is gone.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = replica\nmax_wal_senders = 5\n",
	query_conf => "shuttle.commit_wait = 3s\n");
my ($query, $one, $two) = ($cluster->{query}, @{ $cluster->{nodes} });
my $session = ShuttleSession->new($query, 'postgres');
my $transfer = 0;

sub prepare
{
	my ($gid, $more) = @_;
	$transfer++;
	return ($session->run("BEGIN; UPDATE account1 SET v = v - 10 WHERE id = 1; UPDATE account2 SET v = v + 10 WHERE id = 1;
		INSERT INTO ledger VALUES ($transfer); " . ($more // '') . " PREPARE TRANSACTION '$gid';"))[1];
}
sub end_it { my $command = shift; return ($session->run("$command;"))[1]; }
sub states { return $query->safe_psql('postgres', 'SELECT server, state FROM shuttle.transactions ORDER BY 1'); }
sub waits { return join "\n", map { "$_|prepared by a client" } @_; }

# ---- both ends

my $before = $cluster->state;
is(prepare('a'), '', 'prepared here and on two nodes');
is($cluster->state, $before, 'nobody sees it');
is(states(), waits('node1', 'node2'), 'the nodes\' parts wait for the client');
is($query->safe_psql('postgres', "SELECT unfinished FROM shuttle.recover() WHERE server = 'node1'"), '1', 'recovery leaves them alone');
is(end_it("COMMIT PREPARED 'a'"), '', 'it is committed');
is($cluster->state, '1990|2010|1', 'everywhere');
is($cluster->nprepared, 0, 'at once');

is(prepare('b'), '', 'another one is prepared');
is(end_it("ROLLBACK PREPARED 'b'"), '', 'and rolled back');
is($cluster->state, '1990|2010|1', 'everywhere');
is($cluster->nprepared, 0, 'at once');
is($query->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 0, 'here, too');

# ---- locks are kept, and nobody else's

is(prepare('locks', 'SELECT FROM account1 WHERE id = 7 FOR UPDATE;'), '', 'it has locked a row, too');
my ($code, $out, $err) = $query->psql('postgres', "SET lock_timeout = '300ms'; UPDATE account1 SET v = v WHERE id = 1");
like($err, qr/lock timeout/, 'a changed row is locked');
($code, $out, $err) = $query->psql('postgres', "SET lock_timeout = '300ms'; UPDATE account1 SET v = v WHERE id = 7");
like($err, qr/lock timeout/, 'a locked row is');
is(($session->run('UPDATE account1 SET v = v WHERE id = 8; SELECT sum(v) FROM account2;'))[0], '2010', 'the session goes on');
is($query->psql('postgres', "COMMIT PREPARED 'locks'"), 0, 'another session commits it');
is($query->safe_psql('postgres', 'SELECT v FROM account1 WHERE id = 7 FOR UPDATE'), 100, 'the rows are free');
is($cluster->state, '1980|2020|2', 'it has committed');

$session->run("BEGIN; SELECT FROM account1 WHERE id = 9 FOR UPDATE; PREPARE TRANSACTION 'only locks';");
is($cluster->nprepared, 1, 'only a lock is prepared');
$session->run("BEGIN; SELECT count(*) FROM account2; PREPARE TRANSACTION 'only reads';");
is($cluster->nprepared, 1, 'what was only read is not');
is(end_it("COMMIT PREPARED 'only locks'") . end_it("COMMIT PREPARED 'only reads'"), '', 'both are committed');
is($cluster->nprepared, 0, 'nothing is left');

# ---- refused

like(prepare('in a block', 'CREATE TEMP TABLE t (i int);'), qr/0A000: cannot PREPARE a transaction that has operated on temporary objects/, 'what core refuses');
is($cluster->nprepared . '|' . $cluster->state, '0|1980|2020|2', 'leaves nothing');
is(prepare('taken'), '', 'a name');
like(($session->run("BEGIN; UPDATE account1 SET v = v WHERE id = 2; UPDATE account2 SET v = v WHERE id = 2; PREPARE TRANSACTION 'taken';"))[1], qr/42710: transaction identifier "taken" is already in use/, 'that is taken');
is($cluster->nprepared, 2, 'the second one is rolled back on the nodes');
like(($session->run("BEGIN; COMMIT PREPARED 'taken'; ROLLBACK;"))[1], qr/25001/, 'not in a block');
$query->safe_psql('postgres', 'CREATE ROLE somebody LOGIN');
($code, $out, $err) = $query->psql('postgres', "SET ROLE somebody; COMMIT PREPARED 'taken'");
like($err, qr/permission denied to finish prepared transaction/, 'not by another role');
is($cluster->nprepared, 2, 'whose attempt ends nothing');
is(end_it("ROLLBACK PREPARED 'taken'"), '', 'by its own role');
like(end_it("COMMIT PREPARED 'taken'"), qr/42704/, 'once');
$query->safe_psql('postgres', "ALTER SERVER node2 OPTIONS (ADD shuttle_two_phase 'off')");
like(prepare('off'), qr/55000: cannot PREPARE a transaction that has written on storage node "node2"/, 'not where nodes do not prepare');
$session->run('ROLLBACK;');
$query->safe_psql('postgres', 'ALTER SERVER node2 OPTIONS (DROP shuttle_two_phase)');

# ---- readers of one state see all of it or nothing

is(prepare('seen'), '', 'a transfer');
my $reader = ShuttleSession->new($query, 'postgres');
$reader->run("SET shuttle.read_consistency = atomic; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM account1 WHERE id = 1;");
is(end_it("COMMIT PREPARED 'seen'"), '', 'it is committed beside a reader');
is(($reader->run('SELECT (SELECT sum(v) FROM account1) + (SELECT sum(v) FROM account2), (SELECT count(*) FROM ledger);'))[0], '4000|2', 'who sees nothing of it');
$reader->run('COMMIT;');
is(($reader->run('SELECT (SELECT sum(v) FROM account1), (SELECT sum(v) FROM account2), (SELECT count(*) FROM ledger);'))[0], '1970|2030|3', 'and all of it later');

# ---- a node is away

is(prepare('away'), '', 'a transfer');
$two->stop('immediate');
like(end_it("COMMIT PREPARED 'away'"), qr/WARNING:  08007: storage node "node2" has not committed yet/, 'it is committed without one node');
is($one->safe_psql('postgres', 'SELECT sum(v) FROM account'), 1960, 'on the other one');
$two->start;
ok($cluster->is_settled('a node that was away', 20), 'recovery finishes it');
is($cluster->state, '1960|2040|4', 'all of it');

# ---- a node has lost its part

is(prepare('lost'), '', 'a transfer');
my $part = $two->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts');
$two->safe_psql('postgres', "ROLLBACK PREPARED '$part'");
like(end_it("COMMIT PREPARED 'lost'"), qr/WARNING:  08007: storage node "node2" may not have committed/, 'a part that is gone is told');
$session->run('UPDATE account1 SET v = v + 10 WHERE id = 1; DELETE FROM ledger WHERE transfer = (SELECT max(transfer) FROM ledger);');

# ---- servers restart, also without the client

is(prepare('kept'), '', 'a transfer');
$session->quit;
$_->restart for $one, $two, $query;
is(states(), waits('node1', 'node2'), 'all restarts leave it');
$session = ShuttleSession->new($query, 'postgres');
is(end_it("COMMIT PREPARED 'kept'"), '', 'then it is committed');
is($cluster->state, '1950|2050|5', 'everywhere');

# ---- restore points pass by it

is(prepare('point'), '', 'a transfer');
is($query->psql('postgres', "SELECT count(*) FROM shuttle.create_restore_point('here')"), 0, 'a restore point does not wait for the client');
is(end_it("ROLLBACK PREPARED 'point'"), '', 'who rolls back');

# ---- who may not look for prepared transactions may end his own; recovery may be awaited by nobody

$query->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION pg_prepared_xact() FROM PUBLIC; GRANT ALL ON ledger TO somebody');
($code, $out, $err) = $query->psql('postgres', "SET ROLE somebody; BEGIN; INSERT INTO ledger VALUES (1000); PREPARE TRANSACTION 'his'; COMMIT PREPARED 'his'");
is($err, '', 'a role that may not list them');
is($query->safe_psql('postgres', 'DELETE FROM ledger WHERE transfer = 1000 RETURNING 1'), 1, 'ends its own');
$session->run("SET shuttle.commit_wait = 0; SET shuttle.read_consistency = strict; BEGIN; INSERT INTO ledger VALUES (1001); PREPARE TRANSACTION 'here'; COMMIT PREPARED 'here';");
is(($session->run('SELECT count(*) FROM account1 WHERE id = 1; DELETE FROM ledger WHERE transfer = 1001 RETURNING transfer;'))[0], "1\n1001", 'local ones are in the order of commits');
is(prepare('unawaited'), '', 'a transfer');
$session->run("COMMIT PREPARED 'unawaited';");
ok($cluster->is_settled('nobody waits', 20), 'recovery commits what nobody waits for');

# A restore point waits for who is preparing, and PREPARE that fails holds nobody up.
like(prepare('unawaited', 'INSERT INTO ledger VALUES (1);'), qr/23505/, 'a transaction that fails');
$session->run('ROLLBACK;');
$two->safe_psql('postgres', 'ALTER SYSTEM SET max_prepared_transactions = 0');
$two->restart;
like(prepare('none'), qr/55000: storage node "node2" cannot take part/, 'a node that cannot prepare');
$session->run('ROLLBACK;');
is($query->psql('postgres', "SELECT count(*) FROM shuttle.create_restore_point('behind')"), 0, 'no lock is left');

ok($query->poll_query_until('postgres', 'SELECT count(*) = 0 FROM shuttle.commit_records'), 'no record is left');
$session->quit;
$reader->quit;
$cluster->stop;
done_testing();
