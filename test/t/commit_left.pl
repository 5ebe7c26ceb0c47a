# What is left prepared on a node is finished by its record, also where servers were made
# to lead to other nodes, a node is a standby for a while, another one does not answer,
# or a database takes no connections or ends its transactions; and who waits for it
# where there is no worker finishes it.
# trap 32
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleCommit;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = replica\nmax_wal_senders = 5\nlog_connections = on\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $node = $nodes[0];
my $number = 0;

# Prepares on node1 what a session here would, and adds the record of its commit.
sub leave
{
	my ($id, $here, $database, $role, $mapping) = @_;
	$here //= $query;
	$database //= 'postgres';
	$mapping //= 1;
	my $become = defined $role ? "SET SESSION AUTHORIZATION $role;" : '';
	my $name = $here->safe_psql($database, "SELECT 'shuttle_' || cluster || '_' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '_' || pg_current_xact_id()
		FROM shuttle.identity") . sprintf('_%016x', ++$number);
	my $server = $here->safe_psql($database, "SELECT oid FROM pg_foreign_server WHERE srvname = 'node1'");
	$node->safe_psql('postgres', "$become BEGIN; UPDATE account SET v = v + 1 WHERE id = $id; PREPARE TRANSACTION '${name}_${server}_$mapping'");
	$here->safe_psql($database, "INSERT INTO shuttle.commit_records VALUES ('$name', ARRAY[$server], now())");
	return;
}

sub value { my $id = shift; return $node->safe_psql('postgres', "SELECT v FROM account WHERE id = $id"); }
sub records { return $query->safe_psql('postgres', 'SELECT count(*) FROM shuttle.commit_records'); }
sub recover { my $server = shift; return $query->safe_psql('postgres', "SELECT committed, rolled_back, unfinished, error FROM shuttle.recover() WHERE server = '$server'"); }

sub is_finished
{
	my ($id, $seconds, $label) = @_;
	my $deadline = time() + $seconds;
	usleep(50_000) while value($id) == 100 && time() < $deadline;
	return is(value($id), 101, $label);
}

# A commit over two nodes has its database looked at.
my $both = 'BEGIN; UPDATE account1 SET v = v WHERE id = 20; UPDATE account2 SET v = v WHERE id = 20; COMMIT;';

sub commit_here
{
	my $database = shift;
	$query->safe_psql($database, $both);
	return;
}

sub set_interval
{
	my $interval = shift;
	$query->safe_psql('postgres', "ALTER SYSTEM SET shuttle.recovery_interval = $interval");
	$query->reload;
	$query->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'pg_shuttle recovery worker')") if $interval == 0;
	return;
}

sub lead
{
	my ($server, $to) = @_;
	my ($host, $port) = ($to->host, $to->port);
	$query->safe_psql('postgres', "ALTER SERVER $server OPTIONS (SET host '$host', SET port '$port')");
	return;
}

# ---- servers that lead elsewhere

set_interval(0);
leave(1);
lead('node1', $nodes[1]);
lead('node2', $nodes[0]);
like($query->safe_psql('postgres', 'SELECT server, state FROM shuttle.transactions'), qr/^node2\|to be committed$/, 'exchanged: it is shown where it is');
is(recover('node2'), '1|0|0|', 'exchanged: it is committed there');
lead('node1', $nodes[0]);
lead('node2', $nodes[1]);
is(recover('node1'), '0|0|0|', 'back: nothing is left');
is(value(1) . '|' . records(), '101|0', 'it was committed, and its record is forgotten');

leave(10);
$query->safe_psql('postgres', q{ALTER SERVER node1 OPTIONS (SET port '1')});
lead('node2', $nodes[0]);
is(recover('node2') . '|' . value(10), '1|0|0||101', 'unreachable by its own server: it is committed by another one that leads there');
is(records(), 1, 'and its record is kept');
lead('node1', $nodes[0]);
lead('node2', $nodes[1]);
is(recover('node1') . '|' . records(), '0|0|0||0', 'reachable again: it is forgotten');

# ---- no role that may finish it

my $user = $query->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE ROLE other LOGIN');
leave(2);
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user 'other')});
is(recover('node1'), qq{0|0|1|role "$user" has prepared it, and no user mapping that was asked leads to that role or to a superuser}, 'a role that may not finish it: says why');
$query->safe_psql('postgres', "ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user '$user')");
is(recover('node1') . '|' . value(2), '1|0|0||101', 'one that may');

leave(9);
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user 'other')});
is(recover('node1'), qq{0|0|1|role "$user" has prepared it, and no user mapping that was asked leads to that role or to a superuser}, 'a role that may not, again');
$query->safe_psql('postgres', "CREATE USER MAPPING FOR PUBLIC SERVER node1 OPTIONS (user '$user')");
is(recover('node1') . '|' . value(9), '1|0|0||101', 'the mapping of PUBLIC leads to one that may');
$query->safe_psql('postgres', "DROP USER MAPPING FOR PUBLIC SERVER node1; ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user '$user')");

# ---- a server of an ordinary user: no connection without a password

leave(20);
$query->safe_psql('postgres', q{CREATE ROLE owner; GRANT USAGE ON FOREIGN DATA WRAPPER shuttle TO owner; ALTER SERVER node1 OWNER TO owner});
like(recover('node1'), qr/^0\|0\|0\|password .*required$/, 'what an ordinary user chose');
$query->safe_psql('postgres', qq{ALTER SERVER node1 OWNER TO "$user"});
is(recover('node1') . '|' . value(20), '1|0|0||101', 'and a superuser');

# ---- many mappings: one is asked, and the one that has prepared it

$node->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 30 LOOP EXECUTE format('CREATE ROLE many%s LOGIN; GRANT ALL ON account TO many%1$s', i); END LOOP; END $$});
$query->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 30 LOOP
	EXECUTE format($e$CREATE ROLE many%s; CREATE USER MAPPING FOR many%1$s SERVER node1 OPTIONS (user 'many%1$s', password_required 'false')$e$, i); END LOOP; END $$;
	ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user 'other')});
leave(8, $query, 'postgres', 'many17', $query->safe_psql('postgres', q{SELECT umid FROM pg_user_mappings WHERE usename = 'many17'}));
is(recover('node1') . '|' . value(8), '1|0|0||101', 'many mappings: it is finished by the one in its name');
my $log = slurp_file($node->logfile);
my %asked = map { $_ => 1 } $log =~ /connection authorized: user=(many\d+)/g;
is(join(' ', sort keys %asked), 'many17', 'many mappings: by that alone');
$query->safe_psql('postgres', "ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user '$user')");

# ---- a server that answers nothing, and what a database has set for its sessions

sub be_silent { return IO::Socket::INET->new(Listen => 50, LocalAddr => '127.0.0.1') or die "no socket: $!"; }
my $silence = be_silent();
$query->safe_psql('postgres', "CREATE SERVER silent FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '" . $silence->sockport . "');
	CREATE USER MAPPING FOR CURRENT_USER SERVER silent");
leave(3);
set_interval(1);
commit_here('postgres');
is_finished(3, 8, 'silent: what another node holds does not wait for it');
close $silence;		# the worker need not wait any longer
SKIP:
{
	skip 'transaction_timeout came with 17', 1 if $query->pg_version < 17;
	set_interval(0);
	$silence = be_silent();
	$query->safe_psql('postgres', "ALTER SERVER silent OPTIONS (SET port '" . $silence->sockport . "');
		ALTER DATABASE postgres SET transaction_timeout = '300ms'");
	leave(4);
	set_interval(1);
	commit_here('postgres');
	is_finished(4, 8, 'a short transaction_timeout does not end it');
	$query->safe_psql('postgres', 'ALTER DATABASE postgres RESET transaction_timeout');
	close $silence;
}
$query->safe_psql('postgres', 'DROP SERVER silent CASCADE');

# ---- a database without the extension, which has a schema of that name

$query->safe_psql('postgres', 'CREATE ROLE builder LOGIN CREATEDB');
my @builder = (extra_params => [ '-U', 'builder' ]);
$query->safe_psql('postgres', 'CREATE DATABASE imitation', @builder);
$query->safe_psql('imitation', 'CREATE SCHEMA shuttle;
	CREATE TABLE shuttle.identity (cluster int, system_identifier int, timeline int); INSERT INTO shuttle.identity VALUES (1, 1, 1);
	CREATE TABLE shuttle.commit_records (name int, servers int, since int); INSERT INTO shuttle.commit_records VALUES (1, 1, 1)', @builder);
my $looked = q{SELECT xact_commit FROM pg_stat_database WHERE datname = 'imitation'};
$query->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum = off');		# it would commit there, too
$query->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = 'imitation')});
my $nlooks = $query->safe_psql('postgres', $looked);
$query->restart;
ok($query->poll_query_until('postgres', "SELECT ($looked) > $nlooks"), 'tables of others are not read');
$query->safe_psql('postgres', 'DROP DATABASE imitation');

# ---- many databases: each is looked at, and not again and again

my $many = 70;
$query->safe_psql('postgres', join '', map { "CREATE DATABASE many$_ STRATEGY file_copy;\n" } 1 .. $many);
$query->restart;
my $seen = q{SELECT count(*) FROM pg_stat_database WHERE datname ~ '^many' AND xact_commit > 0};
ok($query->poll_query_until('postgres', "SELECT ($seen) = $many"), 'many databases: all of them are looked at');
my $ncommits = q{SELECT sum(xact_commit) FROM pg_stat_database WHERE datname ~ '^many'};
my $once = $query->safe_psql('postgres', $ncommits);
sleep 3;
is($query->safe_psql('postgres', $ncommits), $once, 'many databases: once');
$query->safe_psql('postgres', join '', map { "DROP DATABASE many$_;\n" } 1 .. $many);

# ---- a database that takes no connections for a while

$query->safe_psql('postgres', 'CREATE DATABASE closed');

sub make_extension
{
	my ($host, @ports) = ($node->host, map { $_->port } @nodes);
	$query->safe_psql('closed', 'CREATE EXTENSION pg_shuttle CASCADE;' . join '', map { "CREATE SERVER node$_ FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$ports[$_ - 1]', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER node$_ OPTIONS (user '$user');
		CREATE FOREIGN TABLE account$_ (id int, v int) SERVER node$_ OPTIONS (table_name 'account');" } 1, 2);
	return;
}
make_extension();
set_interval(0);
leave(5, $query, 'closed');
commit_here('closed');
$query->safe_psql('postgres', 'ALTER DATABASE closed ALLOW_CONNECTIONS false');
set_interval(1);
sleep 3;
is(value(5), 100, 'closed: nothing is done');
$query->safe_psql('postgres', 'ALTER DATABASE closed ALLOW_CONNECTIONS true');
is_finished(5, 30, 'open again: it is');

# ---- a database that always wants to be looked at, and one behind it

set_interval(0);
leave(12);
leave(13, $query, 'closed');
$node->safe_psql('postgres', 'GRANT SELECT ON account TO other');
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user 'other')});
my $script = PostgreSQL::Test::Utils::tempdir() . '/busy.sql';
append_to_file($script, "SELECT shuttle.disconnect('node1');\nSELECT count(*) FROM account1;\n");
my @busy = ('pgbench', '-n', '-c', 4, '-T', 60, '-f', $script, '-h', $query->host, '-p', $query->port, 'postgres');
my $busy = IPC::Run::start(\@busy, '>', \my $busy_out, '2>', \my $busy_err);
set_interval(1);
commit_here('closed');
is_finished(13, 20, 'a busy database with a node that does not let it finish: others have their turn');
$busy->signal('TERM');
$busy->finish;
$query->safe_psql('postgres', "ALTER USER MAPPING FOR CURRENT_USER SERVER node1 OPTIONS (SET user '$user')");
is_finished(12, 20, 'and it has its own');

# ---- an extension that is made again, beside a session that has used its tables

# The worker would end the record that is looked for.
set_interval(0);
my $session = ShuttleSession->new($query, 'closed');
is(join('', $session->run($both)), '', 'a session commits over two nodes');
$query->safe_psql('closed', 'DROP EXTENSION pg_shuttle CASCADE; DROP SCHEMA IF EXISTS shuttle;
	CREATE SCHEMA shuttle; CREATE TABLE shuttle.commit_records (name int); DROP SCHEMA shuttle CASCADE');
make_extension();
is(join('', $session->run($both)), '', 'made again: so does it now');
is($query->safe_psql('closed', 'SELECT count(*) FROM shuttle.commit_records'), 1, 'made again: and the record is in its table');
$session->quit;

# ---- without a worker

my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
$plain->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\nshuttle.deadlock_timeout = '200ms'");
$plain->start;
$cluster->make_tables($plain);
$session = ShuttleSession->new($plain, 'postgres');
$session->run('SELECT v FROM account1 WHERE id = 6;');
leave(6, $plain);
my ($out, $err) = $session->run(q{SET statement_timeout = '30s'; BEGIN; UPDATE account1 SET v = v + 1 WHERE id = 6 RETURNING v; COMMIT;});
is("$out$err", '102', 'without a worker: who waits for it finishes it');
$session->quit;

# what is found when a query in parallel connects
$plain->safe_psql('postgres', 'CREATE TABLE many AS SELECT i FROM generate_series(1, 20000) i; ANALYZE many');
leave(11, $plain);
sleep 2;
$session = ShuttleSession->new($plain, 'postgres');
$session->run('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;');
($out, $err) = $session->run('SELECT count(*) FROM (SELECT i, 1 FROM many OFFSET 0) m LEFT JOIN (SELECT id FROM account1 WHERE id + random() > 0) a ON a.id = m.i;');
is("$out$err|" . value(11), '20000|101', 'without a worker: so does who connects, in a query in parallel');
$session->quit;
$plain->stop;

# ---- a node that is a standby for a while

set_interval(0);
$node->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
leave(7);
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$node->stop('immediate');
lead('node1', $standby);
my $refusal = 'the server is a standby, which does not show what it has prepared';
is(recover('node1'), "0|0|0|$refusal", 'a standby says nothing');
is($query->safe_psql('postgres', q{SELECT state FROM shuttle.transactions WHERE server = 'node1'}), "not known: $refusal", 'a standby: so does the view');
is(records(), 1, 'a standby: the record is kept');
$standby->promote;
$node = $standby;
is(recover('node1'), '1|0|0|', 'promoted: it is committed');
is(value(7) . '|' . records(), '101|0', 'promoted: it is there, and its record is forgotten');

# ---- who says to be the session that works on it

$node->safe_psql('postgres', 'CREATE ROLE stranger LOGIN');
for my $case ([ 'stranger', '0|1|0|', 'a role that cannot have prepared it: it is rolled back' ],
	[ $node->safe_psql('postgres', 'SELECT current_user'), '0|0|1|', 'a role that can: it is left to the session' ])
{
	my ($role, $expected, $label) = @$case;
	my $liar = ShuttleSession->new($node, 'postgres', '-U', $role);
	$liar->run("SET application_name = 'pg_shuttle deadbeefdeadbeef:1 5/5';");
	leave(8, $query, 'postgres', undef, '1_deadbeefdeadbeef:1 5/5_0123456789abcdef');
	$query->safe_psql('postgres', 'DELETE FROM shuttle.commit_records');
	is(recover('node1'), $expected, $label);
	$liar->quit;
}

$_->stop for $standby, $query, $nodes[1];
done_testing();
