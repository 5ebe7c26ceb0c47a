# shuttle.pause_node(): new transactions on a node wait until it is resumed, or the time is
# over; those that have begun there go on, and are waited for. So a switchover costs nobody
# anything.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleSession;

my $first = PostgreSQL::Test::Cluster->new('first');
$first->init(allows_streaming => 1);
$first->append_conf('postgresql.conf', "cluster_name = 'first'\nautovacuum = off\nmax_prepared_transactions = 10");
$first->start;
$first->safe_psql('postgres', 'CREATE VIEW which AS SELECT current_setting($$cluster_name$$) AS name; CREATE TABLE written (id int PRIMARY KEY)');
$first->backup('copy');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($first, 'copy', has_streaming => 1);
$second->append_conf('postgresql.conf', "cluster_name = 'second'");
$second->start;

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 0\nmax_prepared_transactions = 10");
$query->start;
my $user = $query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE written_here (id int); CREATE ROLE plain; SELECT current_user');
my ($hosts, $ports) = map { my $of = $_; join ',', map { $_->$of } $first, $second } 'host', 'port';
my ($here, $port) = ($query->host, $query->port);
$query->safe_psql('postgres', "CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$hosts', port '$ports', dbname 'postgres', target_session_attrs 'read-write');
	CREATE SERVER near FOREIGN DATA WRAPPER shuttle OPTIONS (host '$here', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user'); CREATE USER MAPPING FOR CURRENT_USER SERVER near OPTIONS (user '$user');
	CREATE FOREIGN TABLE which (name text) SERVER far; CREATE FOREIGN TABLE written (id int) SERVER far;
	CREATE FOREIGN TABLE near (id int) SERVER near OPTIONS (table_name 'written_here')");

my ($admin, $one, $two, $three) = map { ShuttleSession->new($query, 'postgres') } 1 .. 4;
sub one { my ($session, $sql) = @_; my ($out, $err) = $session->run($sql); return $err eq '' ? $out : "$out$err"; }
sub result { my $session = shift; my ($out, $err) = $session->result; return "$out$err"; }

my $event = $query->pg_version >= 17 ? 'ShuttlePaused' : 'Extension';
sub waits
{
	my $session = shift;
	return ok($query->poll_query_until('postgres', "SELECT wait_event = '$event' FROM pg_stat_activity WHERE pid = " . $session->pid), 'it waits');
}

# ---- nobody is there

is(one($_, 'SELECT name FROM which;'), 'first', 'connected') for $one, $two;
is(one($admin, q{SELECT shuttle.pause_node('far');}), 0, 'paused');
is(one($admin, q{SELECT DISTINCT server, paused_until BETWEEN now() + interval '20 s' AND now() + interval '30 s' FROM shuttle.nodes ORDER BY 1;}), "far|t\nnear|", 'shuttle.nodes shows it');
$one->send('SELECT name FROM which;');
waits($one);
$three->send('INSERT INTO written VALUES (1);');		# has no connection yet
waits($three);
is(one($two, 'SELECT count(*) FROM near;'), 0, 'another node is not paused');
is(one($two, q{SET statement_timeout = '300ms'; SELECT name FROM which;}) =~ /^ERROR:  (\d+)/ ? $1 : '', '57014', 'statement_timeout ends the wait');
is(one($two, q{RESET statement_timeout; SELECT ok FROM shuttle.run_on_nodes('SELECT 1', '{far}');}), 't', 'run_on_nodes() does not wait');
is(one($admin, q{SELECT shuttle.resume_node('far');}), 't', 'resumed');
is(result($one), 'first', 'then it goes on');
is(result($three), '', 'and a new session');
is(one($admin, q{SELECT shuttle.resume_node('far'), (SELECT count(paused_until) FROM shuttle.nodes);}), 'f|0', 'it is not paused any more');

# ---- who has begun

one($one, 'BEGIN; INSERT INTO written VALUES (2); INSERT INTO near VALUES (2);');
is(one($admin, q{SELECT shuttle.pause_node('far', drain => '200 ms');}), 1, 'one is left');
is(one($one, 'INSERT INTO written VALUES (3); SELECT name FROM which; COMMIT;'), 'first', 'it goes on, and commits on two nodes');
$one->send('SELECT name FROM which;');
waits($one);
one($admin, q{SELECT shuttle.resume_node('far');});
is(result($one), 'first', 'its next transaction has waited');
one($one, 'BEGIN; SELECT name FROM which;');
$admin->send(q{SELECT shuttle.pause_node('far');});
waits($admin);
is(one($one, 'COMMIT;'), '', 'a reader ends');
is(result($admin), 0, 'who pauses has waited for that');
like(one($two, q{SELECT shuttle.resume_node('far'); BEGIN; SELECT name FROM which; SELECT shuttle.pause_node('far');}), qr/ERROR:  55006: cannot pause storage node "far" because this transaction uses it/, 'not for itself');
one($two, 'ROLLBACK;');

# ---- it ends by itself

my $began = time();
is(one($admin, q{SELECT shuttle.pause_node('far', '700 ms');}), 0, 'paused for a while');
is(one($one, 'SELECT name FROM which;'), 'first', 'which ends');
cmp_ok(time() - $began, '>', 0.6, 'with its time');
one($one, 'BEGIN; SELECT name FROM which;');
$admin->send(q{SELECT shuttle.pause_node('far', '100 s', '100 s');});
waits($admin);
$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $admin->pid . ')');
like(result($admin), qr/^ERROR:  57014/, 'a cancel');
is(one($two, 'SELECT name FROM which;'), 'first', 'pauses nothing');
one($one, 'COMMIT;');
my $dying = ShuttleSession->new($query, 'postgres');
one($dying, q{SELECT shuttle.pause_node('far', '700 ms');});
$dying->quit;
is(one($two, 'SELECT name FROM which;'), 'first', 'nor longer than its time if who paused it is gone');

# ---- a switchover

$first->wait_for_catchup($second, 'replay');
is(one($admin, q{SELECT shuttle.pause_node('far');}), 0, 'paused for a switchover');
$one->send('SELECT name FROM which;');
$two->send('BEGIN; INSERT INTO near VALUES (9); INSERT INTO written VALUES (9); COMMIT; SELECT name FROM which;');
waits($_) for $one, $two;
$first->stop('fast');
$second->promote;
one($admin, q{SELECT shuttle.resume_node('far');});
is(result($_), 'second', 'nobody notices') for $one, $two;
is($second->safe_psql('postgres', 'SELECT array_agg(id ORDER BY id) FROM written'), '{1,2,3,9}', 'and nothing is lost');

# ---- refusals

like(one($admin, "SELECT shuttle.pause_node('far', '$_');"), qr/^ERROR:  22023: argument "timeout" must be between/, "timeout $_") for '0', '2 days', '1 month', '-1 s';
like(one($admin, q{SET ROLE plain; SELECT shuttle.pause_node('far');}), qr/^ERROR:  42501/, 'not everybody');
$query->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'pg_shuttle'");
$_->quit for $admin, $one, $two, $three;
$query->restart;
$one = ShuttleSession->new($query, 'postgres');
like(one($one, q{SELECT shuttle.pause_node('far');}), qr/^ERROR:  55000: nodes can only be paused if pg_shuttle is in "shared_preload_libraries"/, 'not preloaded');
is(one($one, 'SELECT name FROM which;'), 'second', 'and all else works');

$one->quit;
$_->stop for $query, $second;
done_testing();
