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

# ---- the wait here is cancelled: the nodes stay prepared until the standby has it

sub recovered { return $query->safe_psql('postgres', q{SELECT string_agg(concat_ws(':', committed, rolled_back, unfinished, error), ' ' ORDER BY server) FROM shuttle.recover()}); }

wait_for_standby($query, 1);
$session->send($transfer);
cancel($query, 'COMMIT');
my $warning = ($session->result)[1];
like($warning, qr/^WARNING:  40003: storage node "$_" has not committed, and may roll back$/m, "COMMIT here is not replicated: $_ does not commit") for 'node1', 'node2';
is(balances(), '100 100', 'nobody sees it');
is($query->safe_psql('postgres', 'SELECT DISTINCT state FROM shuttle.transactions'), 'waits for a standby of this server', 'shuttle.transactions says why');
is(recovered(), join(' ', ('0:0:1:waits for a standby of this server') x 2), 'and recover() does not, either');
wait_for_standby($query, 0);
is(recovered(), join(' ', ('1:0:0') x 2), 'then it does');
is_settled('and it is whole', '99 101');
restore();

# ---- a server whose standbys do not follow it any more rolls nothing back: it may be replaced

my ($prefix) = $query->safe_psql('postgres', q{SELECT 'shuttle_' || cluster || '_' || (SELECT oid FROM pg_database WHERE datname = 'postgres') || '_' FROM shuttle.identity});
my ($number, $mapping) = split /\|/, $query->safe_psql('postgres', q{SELECT srvid, umid FROM pg_user_mappings WHERE srvname = 'node1'});
my $later = $query->safe_psql('postgres', 'SELECT pg_current_xact_id()::text::bigint + 1000');
$first->safe_psql('postgres', "BEGIN; UPDATE account SET v = v + 1 WHERE id = 2; PREPARE TRANSACTION '${prefix}${later}_00000000000000aa_${number}_${mapping}_00000000000000bb:1 1/1'");
wait_for_standby($query, 1);
is($query->safe_psql('postgres', q{SELECT state FROM shuttle.transactions}), 'waits for a standby of this server', 'what has no record here may have one on a standby that was promoted');
is($query->safe_psql('postgres', q{SELECT rolled_back, unfinished FROM shuttle.recover() WHERE server = 'node1'}), '0|1', 'it is left alone');
wait_for_standby($query, 0);
is($query->safe_psql('postgres', q{SELECT rolled_back, unfinished FROM shuttle.recover() WHERE server = 'node1'}), '1|0', 'until the standbys are there');

# ---- a server that was replaced finishes nothing, whichever standby still follows it

my $system = $query->safe_psql('postgres', q{SELECT lpad(to_hex(system_identifier), 16, '0') FROM pg_control_system()});
my $past = $query->safe_psql('postgres', 'SELECT pg_current_xact_id()');
sub prepare_on
{
	my ($timeline, $id) = @_;
	my $gid = sprintf("${prefix}${past}_%06x%010x_${number}_${mapping}_${system}:1 1/1", $timeline, $id);
	$first->safe_psql('postgres', "BEGIN; UPDATE account SET v = v + 1 WHERE id = $id; PREPARE TRANSACTION '$gid'");
	return $gid;
}
sub states { return $query->safe_psql('postgres', q{SELECT state FROM shuttle.transactions ORDER BY transaction}); }
prepare_on(1, 3);
my $later_gid = prepare_on(2, 4);
is(states(), "waits for a standby of this server\nof a server that has replaced this one", 'one that a promoted standby has prepared');
is($query->safe_psql('postgres', q{SELECT committed, rolled_back, unfinished FROM shuttle.recover() WHERE server = 'node1'}), '0|0|2', 'then nothing is finished');
$first->safe_psql('postgres', "ROLLBACK PREPARED '$later_gid'");
is($query->safe_psql('postgres', q{SELECT committed, rolled_back, unfinished FROM shuttle.recover() WHERE server = 'node1'}), '0|1|0', 'else it is');

# ---- COMMIT PREPARED is not on the standby that is promoted

sub records { return $query->safe_psql('postgres', 'SELECT count(*) FROM shuttle.commit_records'); }

# Prepared on both nodes, and on the standby; the decision waits.
$first->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($first, 'copy', has_streaming => 1);
$standby->start;
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
is(records(), 0, 'no record is left');
$first->wait_for_catchup($standby, 'replay');
is($query->safe_psql('postgres', 'SELECT server, standby, state, sync_state, behind_bytes, error FROM shuttle.standbys'), 'node1|standby|streaming|async|0|', 'shuttle.standbys has it');
like(($query->psql('postgres', 'CREATE ROLE someone; GRANT USAGE ON SCHEMA shuttle TO someone; SET ROLE someone; SELECT * FROM shuttle.standbys'))[2], qr/permission denied for function run_on_nodes/, 'for who may ask nodes');
my ($hosts, $ports) = map { my $of = $_; join ',', map { $_->$of } $first, $standby } 'host', 'port';
$query->safe_psql('postgres', "ALTER SERVER node1 OPTIONS (SET host '$hosts', SET port '$ports', ADD target_session_attrs 'read-write')");
wait_for_standby($query, 1);
$session->send($transfer);
waiting($query, 'COMMIT');
$first->wait_for_catchup($standby, 'replay');
$standby->safe_psql('postgres', "ALTER SYSTEM SET primary_conninfo = ''");
$standby->reload;
$first->poll_query_until('postgres', 'SELECT NOT EXISTS (SELECT FROM pg_stat_replication)') or die 'still streaming';

# The node commits, but does not wait for standbys.
wait_for_standby($first, 1);
wait_for_standby($query, 0);
cancel($first, 'COMMIT');
like(($session->result)[1], qr/^WARNING:  08007: storage node "node1" has committed, but its standbys may not know$/m, 'COMMIT PREPARED that is not replicated: a warning');
wait_for_standby($first, 0);
is_settled('it has committed', '99 101');

# Neither the next commit nor recovery forgets the record.
$session->run('BEGIN; UPDATE account2 SET v = v WHERE id = 3; INSERT INTO ledger VALUES (1, 1, 1, 1); COMMIT;');
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
is(records(), 1, 'its record is kept');
$first->stop('immediate');
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 1, 'the new primary has it prepared');
is($query->safe_psql('postgres', q{SELECT committed, rolled_back FROM shuttle.recover() WHERE server = 'node1'}), '1|0', 'recovery commits it there');
$first = $standby;
is_settled('so it is whole', '99 101');
$query->safe_psql('postgres', 'ALTER SYSTEM SET shuttle.record_retention = 0');
$query->reload;
$query->poll_query_until('postgres', q{SELECT current_setting('shuttle.record_retention') = '0'});
$query->safe_psql('postgres', 'SELECT * FROM shuttle.recover()');
is(records(), 0, 'the record goes when its time is over');

$session->quit;
$standby->stop;
$cluster->stop;
done_testing();
