# A primary that was frozen while its standby was promoted: sessions leave it at their
# next transaction, those that wait for it give up, recovery leaves it alone; and a node
# that was replaced, or restored to an earlier timeline, locks nobody out.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleSession;

sub start
{
	my ($name, $from) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$from ? $server->init_from_backup($from, 'copy', has_streaming => 1) : $server->init(allows_streaming => 1);
	$server->append_conf('postgresql.conf', "cluster_name = '$name'\nmax_prepared_transactions = 10\nautovacuum = off\nlog_min_messages = log");
	$server->start;
	$server->safe_psql('postgres', 'CREATE VIEW which AS SELECT current_setting($$cluster_name$$) AS name; CREATE TABLE written (id int PRIMARY KEY);
		CREATE ROLE plain LOGIN; GRANT SELECT ON which TO plain') if !$from;
	return $server;
}

my $first = start('first');
$first->backup('copy');
my $second = start('second', $first);
my $other = start('other');
my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 0\nshuttle.deadlock_timeout = 0");
$query->start;
$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
my $user = $query->safe_psql('postgres', 'SELECT current_user');

sub make_server
{
	my ($name, @hosts) = @_;
	my ($host, $port) = map { my $of = $_; join ',', map { $_->$of } @hosts } 'host', 'port';
	$query->safe_psql('postgres', "CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres', target_session_attrs 'read-write');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
		CREATE FOREIGN TABLE which_$name (name text) SERVER $name OPTIONS (table_name 'which');
		CREATE FOREIGN TABLE written_$name (id int) SERVER $name OPTIONS (table_name 'written')");
	return;
}

# A server stands still, with all that is connected to it, or goes on.
my %frozen;
sub freeze
{
	my $server = shift;
	my ($postmaster) = slurp_file($server->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	$frozen{ $server->name } = [ $postmaster, map { /(\d+)/ } split /\s+/, qx(ps -o pid= --ppid $postmaster) ];
	kill 'STOP', @{ $frozen{ $server->name } };
	return;
}
sub wake { my $server = shift; kill 'CONT', @{ delete $frozen{ $server->name } }; return; }
END { kill 'CONT', @$_ for values %frozen; }

sub session { return ShuttleSession->new($query, 'postgres'); }
sub one { my ($session, $sql) = @_; my ($out, $err) = $session->run($sql); return $err eq '' ? $out : "$out$err"; }

# ---- what is asked

make_server('far', $first, $second);
my ($idle, $busy, $waiting, $writing) = map { session() } 1 .. 4;
is(one($_, 'SELECT name FROM which_far;'), 'first', 'on the primary') for $idle, $busy, $waiting, $writing;
is(one($idle, 'SELECT DISTINCT role, timeline FROM shuttle.nodes;'), 'primary|1', 'shuttle.nodes has role and timeline');
$first->wait_for_catchup($second, 'replay');

# ---- the primary stands still, the standby is promoted, one session finds it

one($busy, 'BEGIN; SELECT name FROM which_far;');
freeze($first);
$busy->send('SELECT name FROM which_far;');
$waiting->send('SELECT name FROM which_far;');
$second->promote;
my $offset = -s $query->logfile;
is(one(session(), 'SELECT name FROM which_far;'), 'second', 'a new session goes to the new primary');
my $began = time();
like(($busy->result)[1], qr/^ERROR:  08006: connection to storage node "far" was lost\nDETAIL:  The server at \S+:${\$first->port} is not the primary any more: it is on timeline 1, and the node on timeline 2, last seen at \S+:${\$second->port}\./,
	'who waits in a transaction gives up');
is(($waiting->result)[0], 'second', 'who waits for the first answer gets it from the new primary');
cmp_ok(time() - $began, '<', 10, 'both soon');
is(one($busy, 'ROLLBACK; SELECT name FROM which_far;'), 'second', 'the next transaction goes on');
like(slurp_file($query->logfile, $offset), qr/LOG:  storage node "far" is at \S+:${\$second->port}, timeline 2, before: \S+:${\$first->port}, timeline 1/, 'the log tells');
wake($first);
is(one($idle, 'SELECT name FROM which_far;'), 'second', 'who was idle leaves it when it is awake again');
is(one($writing, 'INSERT INTO written_far VALUES (1);'), '', 'so does who writes');
is($second->safe_psql('postgres', 'SELECT id FROM written'), 1, 'on the new primary');

# ---- only the old one is there

$idle->run('SELECT shuttle.disconnect();');
freeze($second);
my $refused = qr/The server at \S+:${\$first->port} is not the primary any more/;
like(one($idle, 'SELECT name FROM which_far;'), qr/^ERROR:  08006: .*\nDETAIL:  $refused.*\nHINT:  If the node was restored to an earlier state on purpose, call shuttle\.forget_epoch\(\)\./, 'it is not used');
my $prepared = "shuttle_${\$query->safe_psql('postgres', 'SELECT cluster FROM shuttle.identity')}_${\$query->safe_psql('postgres', q{SELECT oid FROM pg_database WHERE datname = 'postgres'})}_3_0000000000000001_1_1";
$first->safe_psql('postgres', "BEGIN; INSERT INTO written VALUES (2); PREPARE TRANSACTION '$prepared'");
like($query->safe_psql('postgres', 'SELECT rolled_back, error FROM shuttle.recover()'), qr/^0\|$refused/, 'nor does recovery decide there');
is($first->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), 1, 'what is prepared there stays');
is(one($idle, q{SELECT shuttle.forget_epoch('far');}), '', 'an administrator says that it is right');
is(one($idle, 'SELECT name FROM which_far;'), 'first', 'then it is used');
is($query->safe_psql('postgres', 'SELECT rolled_back, unfinished FROM shuttle.recover()'), '1|0', 'and recovery decides there');
wake($second);
is(one($writing, 'SELECT name FROM which_far;'), 'second', 'a connection to the newer one stays');
my ($psql, undef, $err) = $query->psql('postgres', "SET ROLE pg_monitor; SELECT shuttle.forget_epoch('far')");
isnt($psql, 0, 'not everybody may say that');

# Other hosts are another node.
is(one($idle, "SELECT shuttle.disconnect(); SELECT name FROM which_far;") =~ s/^t\n//r, 'first', 'the last good host comes first');
one($busy, 'SELECT shuttle.disconnect(); SELECT name FROM which_far;');
$query->safe_psql('postgres', "ALTER SERVER far OPTIONS (SET host '${\$first->host}', SET port '${\$first->port}')");
is(one($_, 'SELECT name FROM which_far;'), 'first', 'a server with other hosts begins anew') for $busy, $writing;

# ---- a host of another cluster

make_server('mixed', $first, $other);
is(one($_, 'SELECT name FROM which_mixed;'), 'first', 'the first of two clusters') for $busy, $idle;
freeze($first);
$offset = -s $query->logfile;
is(one(session(), 'SELECT name FROM which_mixed;'), 'other', 'the other one, while the first stands still');
wake($first);
is(one($_, 'SELECT name FROM which_mixed;'), 'other', 'all follow, and nobody is locked out') for $busy, $idle;
like(slurp_file($query->logfile, $offset), qr/LOG:  storage node "mixed" at \S+, timeline 1, is another system than before/, 'the log tells');
is(scalar(() = slurp_file($query->logfile, $offset) =~ /is another system/g), 1, 'once');

# ---- a role that may not ask

$first->safe_psql('postgres', 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
$query->safe_psql('postgres', q{ALTER USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (SET user 'plain')});
$offset = -s $first->logfile;
is(one($idle, "SELECT name FROM which_far; SELECT role, timeline FROM shuttle.nodes WHERE server = 'far' AND pid = pg_backend_pid();"), "first\nprimary|", 'it works, without a timeline');
is(one($idle, q{SELECT ok FROM shuttle.run_on_nodes('SELECT 1', '{far}');}), 't', 'so does run_on_nodes()');
unlike(slurp_file($first->logfile, $offset), qr/ERROR/, 'nothing is written to the log of the node');

# ---- all sessions wait for a server that stands still: one of them, and the worker, look

$second->backup('copy');
my $third = start('third', $second);
make_server('again', $second, $third);
$query->safe_psql('postgres', q{DROP SERVER mixed CASCADE; ALTER SYSTEM SET shuttle.recovery_interval = '1s'; ALTER SYSTEM SET shuttle.deadlock_timeout = '200ms'});
$query->reload;
is(one($_, 'SELECT name FROM which_again;'), 'second', 'on the primary') for $idle, $busy;
one($busy, 'BEGIN; SELECT name FROM which_again;');
$second->wait_for_catchup($third, 'replay');
freeze($second);
$_->send('SELECT name FROM which_again;') for $idle, $busy;
$third->promote;
is(($idle->result)[0], 'third', 'they find the new primary');
like(($busy->result)[1], qr/^ERROR:  08006: .*\nDETAIL:  The server at \S+:${\$second->port} is not the primary any more/, 'by themselves');
cmp_ok($busy->seconds, '<', 25, 'soon');
wake($second);

$_->quit for $idle, $busy, $waiting, $writing;
$_->stop for $query, $other, $third, $second, $first;
done_testing();
