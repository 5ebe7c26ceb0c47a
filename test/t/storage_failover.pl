# While a standby is promoted no host of a node can be had: sessions wait for
# shuttle.failover_wait and go on, also with a statement that has only read; errors that
# waiting does not cure, and nodes with one host, fail at once.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleSession;

my $first = PostgreSQL::Test::Cluster->new('first');
$first->init(allows_streaming => 1);
my $hba = $first->data_dir . '/pg_hba.conf';
my $lines = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local all late scram-sha-256\n$lines");
$first->append_conf('postgresql.conf', "cluster_name = 'first'\nautovacuum = off");
$first->start;
$first->safe_psql('postgres', q{
	SET password_encryption = 'scram-sha-256';
	CREATE ROLE late LOGIN PASSWORD 'hush';
	CREATE VIEW which AS SELECT current_setting('cluster_name') AS name;
	CREATE VIEW slow AS SELECT current_setting('cluster_name') AS name FROM pg_sleep(CASE current_setting('cluster_name') WHEN 'first' THEN 60 ELSE 0 END);
	CREATE TABLE written (id int PRIMARY KEY);
	CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM name FROM public.slow; RETURN NEW; END';
	CREATE TRIGGER t BEFORE INSERT ON written FOR EACH ROW EXECUTE FUNCTION be_slow()});
$first->backup('copy');

# It takes no connections before it is promoted (57P03).
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($first, 'copy', has_streaming => 1);
$second->append_conf('postgresql.conf', "cluster_name = 'second'\nhot_standby = off");
$second->start;
$first->wait_for_catchup($second, 'replay');

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 0\nshuttle.failover_wait = '100s'");
$query->start;
my $user = $query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; SELECT current_user');

sub make_server
{
	my ($name, $options, @hosts) = @_;
	my ($host, $port) = map { my $of = $_; join ',', map { $_->$of } @hosts } 'host', 'port';
	$query->safe_psql('postgres', "CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres', target_session_attrs 'read-write');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS ($options);
		CREATE FOREIGN TABLE which_$name (name text) SERVER $name OPTIONS (table_name 'which');
		CREATE FOREIGN TABLE slow_$name (name text) SERVER $name OPTIONS (table_name 'slow');
		CREATE FOREIGN TABLE written_$name (id int) SERVER $name OPTIONS (table_name 'written')");
	return;
}

make_server('far', "user '$user'", $first, $second);
make_server('lone', "user '$user'", $first);
make_server('late', q{user 'late', password 'wrong'}, $second, $first);

sub session { return ShuttleSession->new($query, 'postgres'); }
sub one { my ($session, $sql) = @_; my ($out, $err) = $session->run($sql); return $err eq '' ? $out : "$out$err"; }

# ---- a switchover

my ($idle, $reading, $read, $writing, $wrote) = map { session() } 1 .. 5;
is(one($_, 'SELECT name FROM which_far;'), 'first', 'on the primary') for $idle, $reading, $read, $writing, $wrote;
one($wrote, 'BEGIN; SELECT name FROM which_far;');
$reading->send('SELECT name FROM slow_far;');
$read->send('BEGIN; SELECT name FROM which_far; SELECT name FROM slow_far;');
$writing->send('INSERT INTO written_far VALUES (1);');
$first->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}) or die 'none works';
$first->stop('fast');
$idle->send('SELECT name FROM which_far;');
my $new = session();
$new->send('SELECT name FROM which_far;');

# They wait, with nothing else to do.
$query->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%_far;' AND wait_event_type = 'Extension'}) or die 'nobody waits';
$second->promote;
for my $pair ([ $idle, 'an idle session' ], [ $new, 'a new session' ], [ $reading, 'a statement that reads, and was at work' ])
{
	my ($session, $label) = @$pair;
	my ($out, $err) = $session->result;
	is("$out$err", 'second', "$label: the new primary");
}
like(($_->result)[1], qr/^ERROR:  08006: connection to storage node "far" was lost\nDETAIL:  terminating connection/, 'a transaction that has read, or writes, is lost') for $read, $writing;
like(one($wrote, 'SELECT name FROM which_far;'), qr/^ERROR:  08006/, 'a transaction that was idle, too');
$_->quit for $read, $writing, $wrote, $new, $reading;

# ---- none comes

$second->stop('immediate');
like(one($idle, q{SET shuttle.failover_wait = '1s'; SELECT name FROM which_far;}), qr/^ERROR:  08001: could not connect to server "far"/, 'nobody came');
cmp_ok($idle->seconds, '>', 0.9, 'within the time');
like(one($idle, q{SET shuttle.failover_wait = 0; SELECT name FROM which_far;}), qr/^ERROR:  08001/, 'not to wait');
cmp_ok($idle->seconds, '<', 20, 'ends at once');
like(one($idle, q{RESET shuttle.failover_wait; SET statement_timeout = '300ms'; SELECT name FROM which_far;}), qr/^ERROR:  57014/, 'statement_timeout');
cmp_ok($idle->seconds, '<', 20, 'ends the wait');
like(one($idle, q{RESET statement_timeout; SELECT name FROM which_lone;}), qr/^ERROR:  08001/, 'a node with one host');
cmp_ok($idle->seconds, '<', 20, 'fails at once');
$idle->send('SELECT name FROM which_far;');
$query->poll_query_until('postgres', 'SELECT wait_event_type = $$Extension$$ FROM pg_stat_activity WHERE pid = ' . $idle->pid) or die 'does not wait';
$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $idle->pid . ')');
like(($idle->result)[1], qr/^ERROR:  57014/, 'a cancel');
is(one($idle, q{SELECT state FROM shuttle.nodes WHERE server = 'far';}), 'not connected', 'nothing is left of it');
$second->start;
is(one($idle, 'SELECT name FROM which_far;'), 'second', 'back again');

# ---- it is there, and says no

$first->start;
my $error = one($idle, 'SELECT name FROM which_late;');
like($error, qr/FATAL:  password authentication failed for user "late"/, 'a wrong password');
unlike($error, qr/28P01|auth\.c/, 'without more than users want to know');
cmp_ok($idle->seconds, '<', 20, 'fails at once');

$idle->quit;
$_->stop for $query, $second, $first;
done_testing();
