# A commit over several nodes is decided only by what cannot be lost when a standby is
# promoted: waits for standbys that are cancelled, or that synchronous_commit leaves out.
# A standby that never comes stands for one that is slow.
# trap 28
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleCommit;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = replica\nmax_wal_senders = 5\nautovacuum = off\n", query_conf => "shuttle.recovery_interval = 0\n");
my ($query, $first, $second) = ($cluster->{query}, @{ $cluster->{nodes} });
my $session = ShuttleSession->new($query, 'postgres');
my $transfer = 'BEGIN; UPDATE account1 SET v = v - 1 WHERE id = 1; UPDATE account2 SET v = v + 1 WHERE id = 1; COMMIT;';

# Makes a server wait for a standby, or not any longer. All sessions of it know.
sub wait_for_standby
{
	my ($server, $yes) = @_;
	my $names = $yes ? 'nobody' : '';
	$server->safe_psql('postgres', "SET synchronous_commit = off; ALTER SYSTEM SET synchronous_standby_names = '$names'");
	$server->reload;
	$server->poll_query_until('postgres', "SELECT current_setting('synchronous_standby_names') = '$names'") or die 'not reloaded';
	return;
}

# Waits until a command of this kind waits for a standby there, and returns its process.
sub waiting
{
	my ($server, $command) = @_;
	my $query = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE '$command%'";
	$server->poll_query_until('postgres', "SELECT EXISTS ($query)") or die "no $command waits";
	return $server->safe_psql('postgres', $query);
}

sub cancel { my ($server, $command) = @_; $server->safe_psql('postgres', 'SELECT pg_cancel_backend(' . waiting($server, $command) . ')'); return; }
sub balances { return join ' ', map { $_->safe_psql('postgres', 'SELECT v FROM account WHERE id = 1') } $first, $second; }

# Nothing is prepared any more, whatever ends it.
sub is_settled
{
	my ($label, $values) = @_;
	$_->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts') or die 'left prepared' for $first, $second;
	return is(balances(), $values, $label);
}

sub restore
{
	$session->run("UPDATE account$_ SET v = 100 WHERE id = 1;") for 1, 2;
	return;
}

# ---- PREPARE is cancelled on the node

wait_for_standby($first, 1);
$session->send($transfer);
cancel($first, 'PREPARE');
like(($session->result)[1], qr/^ERROR:  40000: storage node "node1" has prepared the transaction, but its standbys may not have it$/m, 'PREPARE that is not replicated: the transaction fails');
wait_for_standby($first, 0);
is_settled('and nothing has changed', '100 100');

# ---- the role on the node does not wait for standbys there

my $user = $first->safe_psql('postgres', 'SELECT current_user');
for my $value ('local', 'off')
{
	$first->safe_psql('postgres', qq{ALTER ROLE "$user" SET synchronous_commit = $value});
	$session->run('SELECT shuttle.disconnect();');
	wait_for_standby($first, 1);
	$session->send($transfer);
	like(waiting($first, 'PREPARE'), qr/^\d+$/, "the role has synchronous_commit $value: PREPARE waits");
	wait_for_standby($first, 0);
	is(($session->result)[1], '', 'and succeeds');
	is_settled('as does the commit', '99 101');
	restore();
}
$first->safe_psql('postgres', qq{SET synchronous_commit = on; ALTER ROLE "$user" RESET synchronous_commit});
$session->run('SELECT shuttle.disconnect();');

# ---- the session does not want to wait for standbys here

for my $value ('local', 'remote_write')
{
	wait_for_standby($query, 1);
	$session->send("SET synchronous_commit = $value; $transfer; RESET synchronous_commit;");
	like(waiting($query, 'COMMIT'), qr{^\d+$}, "synchronous_commit $value: a decision waits all the same");
	is(balances(), '100 100', 'and no node has committed');
	wait_for_standby($query, 0);
	$session->result;
	is_settled('then they do', '99 101');
	restore();
}
$session->run('SET synchronous_commit = local;');
wait_for_standby($query, 1);
is(($session->run('CREATE TABLE scratch (id int); DROP TABLE scratch; SHOW synchronous_commit;'))[0], 'local', 'other transactions are left alone');
wait_for_standby($query, 0);
$session->run('RESET synchronous_commit;');

$session->quit;
$cluster->stop;
done_testing();
