# shuttle.nodes and shuttle.node_stats: of all sessions where the library is
# preloaded by the server, else of the session; and who sees what.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 0\nautovacuum = off\nlisten_addresses = '127.0.0.1'");
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $closed_port = PostgreSQL::Test::Cluster::get_free_port();
my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
my $mute_port = $mute->sockport;

$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE TABLE numbers AS SELECT i AS id FROM generate_series(1, 3000) i;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE SERVER by_address FOREIGN DATA WRAPPER shuttle OPTIONS (host 'localhost', hostaddr '127.0.0.1', port '$port', dbname 'postgres');
	CREATE SERVER mute FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$mute_port', dbname 'postgres');
	CREATE SERVER closed FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$closed_port', dbname 'postgres');
	CREATE SERVER stock FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER by_address OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER mute OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER closed OPTIONS (user '$user');
	CREATE FOREIGN TABLE far_numbers (id int) SERVER far OPTIONS (table_name 'numbers');
	CREATE FOREIGN TABLE addressed (id int) SERVER by_address OPTIONS (table_name 'numbers');
	CREATE FOREIGN TABLE mute_numbers (id int) SERVER mute OPTIONS (table_name 'numbers');
	CREATE FOREIGN TABLE closed_numbers (id int) SERVER closed OPTIONS (table_name 'numbers');
	CREATE ROLE plain LOGIN;
	CREATE ROLE watcher LOGIN IN ROLE pg_read_all_stats;
	CREATE USER MAPPING FOR plain SERVER far OPTIONS (user '$user', password_required 'false');
	GRANT SELECT ON far_numbers TO plain;
});

my $session = ShuttleSession->new($node, 'postgres');
my $other = ShuttleSession->new($node, 'postgres');
my $pid = $session->pid;

# ---- states

my $mine = "FROM shuttle.nodes WHERE server = 'far' AND pid = $pid";
is(($other->run('SELECT server, state FROM shuttle.nodes ORDER BY server;'))[0],
	"by_address|not connected\nclosed|not connected\nfar|not connected\nmute|not connected",
	'every server of the wrapper has a row');
$session->run('SELECT count(*) FROM far_numbers;');
is(($other->run("SELECT state, user_name = '$user', address, split_part(version, '.', 1)::int = current_setting('server_version_num')::int / 10000,
	since BETWEEN now() - interval '1 minute' AND clock_timestamp() $mine;"))[0],
	"idle|t|$host:$port|t|t", 'an idle connection');
is(($other->run("SELECT round_trip_min_ms > 0, round_trip_min_ms < 1000, round_trip_avg_ms >= round_trip_min_ms $mine;"))[0],
	't|t|t', 'with its round trips');
is(($other->run("SELECT a.application_name LIKE '%:$pid%' FROM pg_stat_activity a JOIN shuttle.nodes n ON n.node_pid = a.pid WHERE n.pid = $pid;"))[0],
	't', 'and its process on the node');
$session->run('SELECT count(*) FROM addressed;');
is(($other->run("SELECT address FROM shuttle.nodes WHERE server = 'by_address' AND pid = $pid;"))[0],
	"127.0.0.1:$port", 'a numeric address');
$session->run('BEGIN; SELECT count(*) FROM far_numbers;');
is(($other->run("SELECT state $mine;"))[0], 'in transaction', 'in a transaction');
$session->run('COMMIT;');
is(($other->run("SELECT state $mine;"))[0], 'idle', 'and behind it');
$session->run('BEGIN; INSERT INTO far_numbers VALUES (0); SAVEPOINT a;');
$other->run("SELECT pg_terminate_backend(node_pid) $mine;");
ok($other->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %:$pid %'"), 'terminated');
like(($session->run('SELECT count(*) FROM far_numbers;'))[1], qr/08006/, 'lost in the transaction');
is(($other->run("SELECT state, address, version $mine;"))[0], "lost|$host:$port|", 'is shown');
$session->run('ROLLBACK;');
is(($other->run("SELECT count(*) $mine;"))[0], '0', 'and is gone behind it');
$session->send('SELECT count(*) FROM mute_numbers;');
ok($other->poll("SELECT state = 'connecting' AND address IS NULL FROM shuttle.nodes WHERE server = 'mute' AND pid = $pid"), 'connecting');
$other->run("SELECT pg_cancel_backend($pid);");
$session->result;
is(($other->run("SELECT state FROM shuttle.nodes WHERE server = 'mute';"))[0], 'not connected', 'no more');

$session->run(q{SET shuttle.idle_timeout = '1s'; SELECT count(*) FROM far_numbers;});
ok($other->poll("SELECT count(*) = 0 $mine"), 'what was idle for too long is not shown to others');
is(($session->run("SELECT count(*) $mine;"))[0], '0', 'nor to its session');
$session->run('RESET shuttle.idle_timeout; SELECT count(*) FROM far_numbers;');
is(($other->run("SELECT state $mine;"))[0], 'idle', 'but when it is there again');

# ---- who sees whom

my $plain = ShuttleSession->new($node, 'postgres', '-U', 'plain');
my $watcher = ShuttleSession->new($node, 'postgres', '-U', 'watcher');
$session->run('SELECT count(*) FROM far_numbers;');
$plain->run('SELECT count(*) FROM far_numbers;');
my $users = "SELECT string_agg(user_name, ',' ORDER BY user_name) FROM shuttle.nodes WHERE server = 'far';";
my $both = join(',', sort('plain', $user));
is(($plain->run($users))[0], 'plain', 'a plain user sees the own connections only');
is(($session->run($users))[0], $both, 'a superuser sees all');
is(($watcher->run($users))[0], $both, 'so does who may read all statistics');
like(($plain->run('SELECT shuttle.reset_node_stats();'))[1], qr/42501/, 'but not everybody resets the totals');
$plain->quit;
ok($session->poll("SELECT count(*) = 0 FROM shuttle.nodes WHERE user_name = 'plain'"), 'a session that ended is not shown');

# ---- totals

my $totals = q{SELECT requests, rows_read, rows_written, errors, connects, reconnects,
	bytes_sent > 0, bytes_received > 3000, wait_time_ms > 0, since > now() - interval '1 minute'
	FROM shuttle.node_stats WHERE server = 'far';};
$session->run('SELECT count(*) FROM far_numbers;');
$session->run('SELECT shuttle.reset_node_stats();');
is(($other->run($totals))[0], '0|0|0|0|0|0|f|f|f|t', 'reset');
$session->run('SELECT id FROM far_numbers WHERE id <= 10;');
$session->run('INSERT INTO far_numbers VALUES (0), (0), (0);');
$session->run('DELETE FROM far_numbers WHERE id = 0;');
$session->run(q{SELECT id FROM far_numbers WHERE 1 / (id - 7) = 0;});
# the node's answer about the written columns' types may be read later
like(($other->run($totals))[0], qr/^[456]\|1[01]\|6\|1\|0\|0\|t\|f\|t\|t$/, 'what a session does is counted');
$other->run('SELECT count(*) FROM (SELECT id FROM far_numbers OFFSET 0) s;');
my ($node_pid) = $other->run("SELECT node_pid $mine;");
$other->run("SELECT pg_terminate_backend($node_pid);");
ok($other->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $node_pid"), 'terminated again');
$session->run('SELECT id FROM far_numbers WHERE id = 1;');
$session->quit;
ok($other->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'the session has ended');
like(($other->run($totals))[0], qr/^\d+\|301[12]\|6\|2\|2\|1\|t\|t\|t\|t$/, 'others do, and what it did stays');
$other->run('SELECT id FROM closed_numbers;');
is(($other->run(q{SELECT errors, connects FROM shuttle.node_stats WHERE server = 'closed';}))[0], '1|0', 'a failed connection');
$other->run(q{SELECT shuttle.reset_node_stats('far');});
is(($other->run(q{SELECT server, errors FROM shuttle.node_stats WHERE server IN ('far', 'closed') ORDER BY server;}))[0],
	"closed|1\nfar|0", 'one server is reset');
like(($other->run(q{SELECT shuttle.reset_node_stats('stock');}))[1], qr/ERROR:  42809/, 'a server of another wrapper');
like(($other->run(q{SELECT shuttle.reset_node_stats('nowhere');}))[1], qr/ERROR:  42704/, 'an unknown one');

# ---- dropped servers, and many

$other->run('DROP SERVER closed CASCADE;');
is(($other->run(q{SELECT count(*) FROM shuttle.node_stats WHERE server = 'closed';}))[0], '0', 'a dropped server disappears');
my $many = 1100;
$other->run(qq{DO \$\$
BEGIN
	FOR i IN 1 .. $many LOOP
		EXECUTE format('CREATE SERVER many_%s FOREIGN DATA WRAPPER shuttle OPTIONS (host ''127.0.0.1'', port ''$closed_port'')', i);
		EXECUTE format('CREATE USER MAPPING FOR PUBLIC SERVER many_%s', i);
		EXECUTE format('CREATE FOREIGN TABLE many_%s (id int) SERVER many_%s', i, i);
	END LOOP;
END \$\$;});
my $crowd = ShuttleSession->new($node, 'postgres');
$crowd->run(qq{DO \$\$
BEGIN
	FOR i IN 1 .. $many LOOP
		BEGIN
			EXECUTE format('SELECT * FROM many_%s', i);
		EXCEPTION WHEN sqlclient_unable_to_establish_sqlconnection THEN
		END;
		IF i % 100 = 0 THEN COMMIT; END IF;
	END LOOP;
END \$\$;});
$crowd->quit;
is(($other->run(q{SELECT count(since), count(since) FILTER (WHERE errors = 1 AND substr(server, 6)::int > 500)
	FROM shuttle.node_stats WHERE server LIKE 'many%';}))[0] =~ s/^10[0-9][0-9]\|/10xx|/r, '10xx|600', 'the latest are kept');
is(($other->run(q{SELECT count(*) FROM shuttle.node_counts();}))[0], '1024', 'no more than there is memory for');
$other->quit;
$watcher->quit;

# ---- without shared memory

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''\nsession_preload_libraries = 'pg_shuttle'");
$node->restart;
unlike(slurp_file($node->logfile), qr/FATAL: .*"pg_shuttle recovery"/, 'a normal stop is no error of the launcher');
$session = ShuttleSession->new($node, 'postgres');
$other = ShuttleSession->new($node, 'postgres');
$session->run('SELECT count(*) FROM far_numbers;');
$session->run('SELECT id FROM far_numbers WHERE id = 0 OR 1 / id = 1;');
my $state = q{SELECT state, address FROM shuttle.nodes WHERE server = 'far';};
is(($session->run($state))[0], "idle|$host:$port", 'not preloaded: its own connection');
is(($other->run($state))[0], 'not connected|', 'not preloaded: not those of others');
is(($session->run($totals))[0], '2|2|0|0|1|0|t|f|t|t', 'not preloaded: its own totals');
is(($other->run($totals))[0], '0|0|0|0|0|0|f|f|f|', 'not preloaded: not those of others');
$session->run('SELECT shuttle.reset_node_stats();');
is(($session->run($totals))[0], '0|0|0|0|0|0|f|f|f|t', 'not preloaded: reset');

$_->quit for $session, $other;
$node->stop;
done_testing();
