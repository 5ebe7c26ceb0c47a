# 200 client sessions over 3 nodes: what the nodes see is counted while all of
# them are there, when their connections are idle for too long, and at the end.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $nclients = 200;
my @nodes = ('one', 'two', 'three');

# Each database is a node: it has its own connections, and is told by its name.
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "max_connections = @{[ 3 * $nclients + 20 ]}\nmax_prepared_transactions = @{[ 3 * $nclients ]}\nshared_buffers = '32MB'\nlog_statement = none");
$far->start;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "max_connections = @{[ $nclients + 20 ]}\nshared_buffers = '32MB'\nlog_statement = none\nshuttle.recovery_interval = 0\nshuttle.deadlock_timeout = '10min'\n"
	. "shared_preload_libraries = 'pg_shuttle'\njit = off");
$node->start;
my ($host, $port) = ($far->host, $far->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE here (id int);');
for my $name (@nodes)
{
	$far->safe_psql('postgres', "CREATE DATABASE $name");
	$far->safe_psql($name, q{
		CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n FROM generate_series(1, 1000) i;
		ALTER TABLE numbers ADD PRIMARY KEY (id);
		CREATE TABLE written (client int, node text);
		ANALYZE;});
	$node->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname '$name');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
		CREATE SCHEMA $name;
		IMPORT FOREIGN SCHEMA public FROM SERVER $name INTO $name;});
}

# Clients wait at two gates, which stand open to nobody until they are opened.
my $dir = PostgreSQL::Test::Utils::tempdir;
my $wait = sub { return "DO \$\$ BEGIN WHILE NOT pg_try_advisory_lock_shared($_[0]) LOOP PERFORM pg_sleep(0.3); END LOOP; END \$\$;"; };
open(my $script, '>', "$dir/script") or die;
print $script qq{
\\set id 1 + :client_id
\\set which :client_id % 3
BEGIN;
SELECT a.n + b.n + c.n FROM one.numbers a JOIN two.numbers b USING (id) JOIN three.numbers c USING (id) WHERE id = :id;
\\if :which = 0
INSERT INTO one.written VALUES (:id, 'one');
\\elif :which = 1
INSERT INTO two.written VALUES (:id, 'two');
\\else
INSERT INTO three.written VALUES (:id, 'three');
\\endif
INSERT INTO here VALUES (:id);
@{[ $wait->(1) ]}
COMMIT;
SET shuttle.idle_timeout = '1s';
SELECT count(*) FROM one.numbers WHERE n = :which;
@{[ $wait->(2) ]}
SELECT count(*) FROM two.numbers WHERE n = :which;
};
close $script;

my $gates = ShuttleSession->new($node, 'postgres');
my $control = ShuttleSession->new($far, 'postgres');
$gates->run('SELECT pg_advisory_lock(1), pg_advisory_lock(2);');

my $clients = fork() // die "fork: $!";
if ($clients == 0)
{
	open STDOUT, '>', "$dir/out";
	open STDERR, '>&', \*STDOUT;
	exec 'pgbench', '-n', '-c', $nclients, '-j', 2, '-t', 1, '-f', "$dir/script", $node->connstr('postgres') or die;
}

my $ours = q{FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'};
my $counts = "SELECT string_agg(datname || ' ' || n, ', ' ORDER BY datname) FROM (SELECT datname, count(*) AS n $ours GROUP BY 1) x";
my $all = join ', ', map { "$_ $nclients" } sort @nodes;

sub counts_are
{
	my ($expected, $label) = @_;
	ok($control->poll("SELECT coalesce(($counts), '') = '$expected'", 90), $label) or diag(($control->run("$counts;"))[0]);
	return;
}

# ---- all are in their transactions

counts_are($all, 'each node has a connection of each client');
ok( $node->poll_query_until('postgres', "SELECT count(*) = $nclients FROM pg_stat_activity WHERE query ~ 'advisory_lock_shared\\(1' AND backend_type = 'client backend'"),
	'all clients have done their work');
counts_are($all, 'and no more than one');
is( ($control->run(q{SELECT count(DISTINCT split_part(split_part(application_name, ':', 2), ' ', 1)) } . "$ours;"))[0], $nclients,
	'application_name tells them apart');
is( ($control->run("SELECT count(*) $ours AND state = 'idle in transaction';"))[0], 3 * $nclients, 'all are in a transaction');
is( $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT pid), count(DISTINCT server) FROM shuttle.nodes WHERE pid IS NOT NULL'),
	join('|', 3 * $nclients, $nclients, 3), 'shuttle.nodes shows them');

# ---- idle ones are closed

$gates->run('SELECT pg_advisory_unlock(1);');
counts_are('', 'idle connections are closed, while their sessions are there');
is( $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE query ~ 'advisory_lock_shared\(2' AND backend_type = 'client backend' AND pid <> pg_backend_pid()}),
	$nclients, 'which they are');

# ---- and made anew

$gates->run('SELECT pg_advisory_unlock(2);');
waitpid($clients, 0);
is($?, 0, 'all clients have ended well') or diag(slurp_file("$dir/out"));
unlike(slurp_file("$dir/out"), qr/ERROR|aborted/, 'without an error');

# ---- nothing is left

counts_are('', 'no connection is left');
is( ($control->run(q{SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND locktype <> 'virtualxid'; SELECT count(*) FROM pg_ls_tmpdir(); SELECT count(*) FROM pg_prepared_xacts;}))[0],
	"0\n0\n0", 'no lock, file or prepared transaction');
is($node->safe_psql('postgres', 'SELECT count(*) FROM shuttle.nodes WHERE pid IS NOT NULL; SELECT count(DISTINCT id), count(*) FROM here'), "0\n$nclients|$nclients", 'nor here');
is( join(',', map { $far->safe_psql($_, "SELECT count(DISTINCT client) FROM written WHERE node = '$_'") } @nodes), '67,67,66', 'each row is where it belongs');

$_->quit for $gates, $control;
$_->stop for $node, $far;
done_testing();
