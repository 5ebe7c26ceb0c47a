# What a session waits for on nodes, as pg_stat_activity shows it.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

my $proxy = ShuttleProxy->new($node);
my $proxy_port = $proxy->port;

# A server that takes connections and says nothing.
my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
my $mute_port = $mute->sockport;

$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE VIEW slow AS SELECT 1 AS id, pg_sleep(60)::text AS nap;
	CREATE TABLE slow_to_write (id int);
	CREATE TABLE slow_to_commit (id int);
	CREATE FUNCTION take_time() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
	CREATE TRIGGER slow BEFORE INSERT ON slow_to_write FOR EACH ROW EXECUTE FUNCTION take_time();
	CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON slow_to_commit DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION take_time();
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE SERVER mute FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$mute_port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER mute OPTIONS (user '$user');
	CREATE FOREIGN TABLE f_slow (id int, nap text) SERVER far OPTIONS (table_name 'slow');
	CREATE FOREIGN TABLE f_write (id int) SERVER far OPTIONS (table_name 'slow_to_write');
	CREATE FOREIGN TABLE f_commit (id int) SERVER far OPTIONS (table_name 'slow_to_commit');
	CREATE SERVER frozen FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$proxy_port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER frozen OPTIONS (user '$user');
	CREATE FOREIGN TABLE f_mute (id int) SERVER mute;
	CREATE FOREIGN TABLE f_frozen (id int, nap text) SERVER frozen OPTIONS (table_name 'slow');
});

my $session = ShuttleSession->new($node, 'postgres');
my $watcher = ShuttleSession->new($node, 'postgres');

sub shown
{
	my ($event, $sql) = @_;
	$event = 'Extension' if $version < 170000;
	$session->send($sql);
	ok( $watcher->poll("SELECT wait_event_type = 'Extension' AND wait_event = '$event'
		FROM pg_stat_activity WHERE pid = " . $session->pid), "$event: $sql")
		or diag($watcher->run('SELECT wait_event_type, wait_event, state, query FROM pg_stat_activity;'));
	$watcher->run('SELECT pg_cancel_backend(' . $session->pid . ');');
	my ($out, $err) = $session->result;
	like($err, qr/57014/, "$event: cancelled");
	return;
}

shown('ShuttleRead', 'SELECT * FROM f_slow;');
shown('ShuttleWrite', 'INSERT INTO f_write VALUES (1);');
shown('ShuttleCommit', 'INSERT INTO f_commit VALUES (1);');
shown('ShuttleConnect', 'SELECT * FROM f_mute;');

# The node does not answer the cancel, either: the abort waits a second for it.
$session->send('SELECT * FROM f_frozen;');
ok($watcher->poll("SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %' AND wait_event = 'PgSleep'"),
	'ShuttleAbort: the node is asked');
$proxy->freeze;
$watcher->run('SELECT pg_cancel_backend(' . $session->pid . ');');
my $abort = $version < 170000 ? 'Extension' : 'ShuttleAbort';
my $client = "SELECT wait_event = '$abort' FROM pg_stat_activity WHERE pid = " . $session->pid;
ok($watcher->poll($client, 3), 'ShuttleAbort: a cancel that is not answered');
like(($session->result)[1], qr/57014/, 'ShuttleAbort: cancelled');
$proxy->thaw;
my $one = $session->run('SELECT 1;');
ok($watcher->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %' AND wait_event = 'PgSleep'"),
	'ShuttleAbort: nothing is left on the node');

$_->quit for $session, $watcher;
$node->stop;
done_testing();
