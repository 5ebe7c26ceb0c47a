# Several hosts in one server, of which one takes connections and never answers and
# one refuses them: sessions, run_on_nodes(), ANALYZE, recover() and the worker reach
# the right one without waiting for the others, and follow a promotion.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleSession;

# ---- a primary, its standby, and two hosts that are none

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
my $hba = $primary->data_dir . '/pg_hba.conf';
my $lines = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local all late scram-sha-256\n$lines");
$primary->append_conf('postgresql.conf', "cluster_name = 'primary'\nmax_prepared_transactions = 10\nautovacuum = off");
$primary->start;
$primary->safe_psql('postgres', 'CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, 100) i; ANALYZE numbers; CREATE TABLE written (id int PRIMARY KEY);
	CREATE VIEW which AS SELECT current_setting($$cluster_name$$) AS name; GRANT SELECT ON which TO PUBLIC;
	SET password_encryption = $$scram-sha-256$$; CREATE ROLE late LOGIN PASSWORD $$hush$$');
$primary->backup('copy');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', "cluster_name = 'standby'");
$standby->start;
$primary->wait_for_catchup($standby, 'replay');

my $silent = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 100, Blocking => 0) or die $!;
my $refused = PostgreSQL::Test::Cluster::get_free_port();

# How often the silent host was called since the last time.
sub calls
{
	my $ncalls = 0;
	while (my $one = $silent->accept) { $ncalls++; }
	return $ncalls;
}

my %host = (primary => $primary->host, standby => $standby->host, silent => '127.0.0.1', refused => '127.0.0.1');
my %port = (primary => $primary->port, standby => $standby->port, silent => $silent->sockport, refused => $refused);

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 0\nshuttle.failover_wait = 0");
$query->start;
my $user = $query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE ROLE stranger; SELECT current_user');

# Makes a server with a list of hosts, and a table there that says who answers.
sub make_server
{
	my ($name, $hosts, $options) = @_;
	my $list = join ',', map { $host{$_} } split / /, $hosts;
	my $ports = join ',', map { $port{$_} } split / /, $hosts;
	$query->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '$list', port '$ports', dbname 'postgres', $options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user', password 'hush');
		CREATE FOREIGN TABLE which_$name (name text) SERVER $name OPTIONS (table_name 'which')});
	return;
}

sub one
{
	my ($session, $sql) = @_;
	my ($out, $err) = $session->run($sql);
	return $err eq '' ? $out : "$out$err";
}

# What a new session gets.
sub fresh { my $sql = shift; return $query->safe_psql('postgres', $sql); }

# A host that hangs would cost this many seconds.
my $timeout = 20;

sub soon
{
	my ($began, $what) = @_;
	return cmp_ok(time() - $began, '<', $timeout / 2, "$what: no wait for the host that hangs");
}

# ---- everything that connects

my $all = 'silent refused standby primary';
make_server('far', $all, "target_session_attrs 'read-write', connect_timeout '$timeout'");
$query->safe_psql('postgres', 'CREATE FOREIGN TABLE numbers (id int) SERVER far; CREATE FOREIGN TABLE written (id int) SERVER far');
my $began = time();
is(fresh('SELECT name FROM which_far'), 'primary', 'a session finds the primary');
soon($began, 'a session');
cmp_ok(calls(), '>', 0, 'the silent host was called');
fresh('SELECT name FROM which_far') for 1 .. 10;
cmp_ok(calls(), '<', 5, 'other sessions leave it for the last');

# Each has a server of its own, of which nobody knows yet who answers.
my $options = "target_session_attrs 'primary', connect_timeout '$timeout'";
make_server("far_$_", $all, $options) for 'run', 'analyze', 'recover', 'worker', 'own';
$began = time();
is(fresh("SELECT ok, rows FROM shuttle.run_on_nodes('SELECT pg_is_in_recovery()', '{far_run}')"), 't|1', 'run_on_nodes()');
$query->safe_psql('postgres', q{CREATE FOREIGN TABLE analyzed (id int) SERVER far_analyze OPTIONS (table_name 'numbers')});
fresh('ANALYZE analyzed');
is(fresh(q{SELECT reltuples FROM pg_class WHERE relname = 'analyzed'}), 100, 'ANALYZE');
is(fresh(q{SELECT unfinished, coalesce(error, 'none') FROM shuttle.recover() WHERE server = 'far_recover'}), '0|none', 'recover()');
soon($began, 'each of them');
cmp_ok(calls(), '>', 3, 'which was called by each');

# A transaction that a session here has prepared and left.
sub leave
{
	my ($node, $id, $server) = @_;
	my $name = fresh(qq{SELECT format('shuttle_%s_%s_%s_00000000000000%s_%s_1', cluster, (SELECT oid FROM pg_database WHERE datname = 'postgres'),
		pg_current_xact_id(), $id, (SELECT oid FROM pg_foreign_server WHERE srvname = '$server')) FROM shuttle.identity});
	$node->safe_psql('postgres', "BEGIN; INSERT INTO written VALUES ($id); PREPARE TRANSACTION '$name'");
	return;
}

sub nprepared { my $node = shift; return $node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'); }

# The worker is to find it on a server that no other session has used.
$query->safe_psql('postgres', "DROP SERVER far_$_ CASCADE") for 'run', 'analyze', 'recover';
leave($primary, 11, 'far_worker');
$began = time();
$query->safe_psql('postgres', q{ALTER SYSTEM SET shuttle.recovery_interval = '1s'});
$query->reload;
$primary->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts') or die 'left prepared';
soon($began, 'the worker finishes a transaction');

# ---- target_session_attrs

my %expected = (standby => 'standby', 'read-only' => 'standby', 'prefer-standby' => 'standby', 'read-write' => 'primary');
for my $attrs (sort keys %expected)
{
	make_server('attrs', 'silent primary refused standby', "target_session_attrs '$attrs', connect_timeout '$timeout'");
	$began = time();
	is(fresh('SELECT name FROM which_attrs'), $expected{$attrs}, "target_session_attrs $attrs");
	soon($began, $attrs);
	$query->safe_psql('postgres', 'DROP SERVER attrs CASCADE');
}

# Only the silent one can be the standby that is wanted: it costs its deadline once.
make_server('rather', 'silent primary', q{target_session_attrs 'prefer-standby', connect_timeout '2'});
is(fresh('SELECT name FROM which_rather'), 'primary', 'prefer-standby, and there is none');
$began = time();
fresh('SELECT name FROM which_rather') for 1 .. 5;
cmp_ok(time() - $began, '<', 5, 'sessions behind that do not wait for it');
make_server('either', 'standby primary', q{connect_timeout '5'});
is(fresh('SELECT name FROM which_either'), 'standby', 'any: the one that is named first');

my $session = ShuttleSession->new($query, 'postgres');
SKIP:
{
	skip 'libpq 15 knows no load_balance_hosts', 1 if $query->pg_version < 16;
	$query->safe_psql('postgres', q{ALTER SERVER either OPTIONS (load_balance_hosts 'random')});
	my %seen;
	$seen{ one($session, "SELECT shuttle.disconnect('either'); SELECT name FROM which_either;") =~ s/^[tf]\n//r }++ for 1 .. 30;
	is(join(' ', sort keys %seen), 'primary standby', 'load_balance_hosts');
}

# ---- errors, cancel, sockets

sub sockets
{
	my $pid = $session->pid;
	return scalar grep { (readlink($_) // '') =~ /^socket/ } glob "/proc/$pid/fd/*";
}

one($session, 'SELECT shuttle.disconnect();');
my $before = sockets();
make_server('none', 'silent refused standby', q{target_session_attrs 'read-write', connect_timeout '1'});
my $error = one($session, 'SELECT name FROM which_none;');
like($error, qr/^ERROR:  08001: could not connect to server "none"\nDETAIL: /, 'none is left');
like($error, qr/port $port{silent} failed: timeout expired/, 'the first one did not answer');
like($error, qr/port $port{refused} failed: Connection refused/, 'the second one refused');
like($error, qr/$port{standby}" failed: session is read-only/, 'the third one is a standby');
unlike($error, qr/hush/, 'no password');
my $run = fresh(q{SELECT error FROM shuttle.run_on_nodes('SELECT 1', '{none}')});
like($run, qr/^(?=.*port $port{silent} failed: timeout expired)(?=.*port $port{refused} failed: Connection refused)(?=.*session is read-only)/s, 'the same from run_on_nodes()');

make_server('away', 'silent refused', q{connect_timeout '60'});
like(one($session, q{SET statement_timeout = '300ms'; SELECT name FROM which_away;}), qr/^ERROR:  57014/, 'statement_timeout');
cmp_ok($session->seconds, '<', 30, 'ends the wait');
like(one($session, q{SELECT * FROM shuttle.run_on_nodes('SELECT 1', '{away}');}), qr/^ERROR:  57014/, 'and that of run_on_nodes()');
one($session, 'RESET statement_timeout;');
$session->send('SELECT name FROM which_away;');
$query->poll_query_until('postgres', 'SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ' . $session->pid . " AND state = 'active')");
$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')');
like(($session->result)[1], qr/^ERROR:  57014/, 'a cancel');
one($session, 'SELECT shuttle.disconnect();');
is(sockets(), $before, 'no socket is left open');

# A session that is busy while it connects has not waited for the host.
make_server('busy', 'primary', q{connect_timeout '1'});
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER busy OPTIONS (SET user 'late', SET password 'hush')});
is(one($session, 'BEGIN; DECLARE c CURSOR FOR SELECT name FROM which_busy; DO $$BEGIN PERFORM pg_sleep(1.5); END$$; FETCH c; COMMIT;'),
	'primary', 'a deadline that passed while the session was busy');

# ---- the standby is promoted while a session lives

# The worker asks all servers.
$query->safe_psql('postgres', "DROP SERVER $_ CASCADE") for 'none', 'away', 'rather';
make_server('way', $all, "target_session_attrs 'read-write', connect_timeout '$timeout'");
is(one($session, 'SELECT name FROM which_far;'), 'primary', 'the session is on the primary');
is(one($session, 'INSERT INTO written VALUES (1) RETURNING id;'), 1, 'and writes there');
$primary->wait_for_catchup($standby, 'replay');
leave($primary, 12, 'way');
$primary->wait_for_catchup($standby, 'replay');
$primary->stop('immediate');
$standby->promote;
$began = time();
is(one($session, 'SELECT name FROM which_far;'), 'standby', 'its next transaction goes to the new one');
is(one($session, 'INSERT INTO written VALUES (2) RETURNING id;'), 2, 'and writes there');
soon($began, 'a session');
$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_prepared_xacts') or die 'left prepared';
is($standby->safe_psql('postgres', 'SELECT array_agg(id ORDER BY id) FROM written'), '{1,2}', 'the worker rolls back what is left there');
soon($began, 'the worker');

# ---- without shared memory each session knows its own

$query->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'pg_shuttle'");
$session->quit;
$query->restart;
$session = ShuttleSession->new($query, 'postgres');
calls();
is(one($session, 'SELECT name FROM which_far_own;'), 'standby', 'not preloaded: the new primary');
cmp_ok(calls(), '>', 0, 'the silent host is called');
one($session, "SELECT shuttle.disconnect('far_own'); SELECT name FROM which_far_own;") for 1 .. 10;
cmp_ok(calls(), '<', 5, 'and then left for the last');

$session->quit;
$_->stop for $query, $standby;
done_testing();
