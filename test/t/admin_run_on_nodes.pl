# shuttle.run_on_nodes(): on all nodes at once, outside of the transaction, by
# those who may.
use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->start;
my ($host, $port) = ($far->host, $far->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');
my $closed_port = PostgreSQL::Test::Cluster::get_free_port();
my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
my $mute_port = $mute->sockport;

# Two databases of a server are two nodes here.
for my $name ('a', 'b')
{
	$far->safe_psql('postgres', "CREATE DATABASE $name");
	$far->safe_psql($name, q{
		CREATE TABLE numbers AS SELECT i AS id, CASE WHEN i < 3 THEN 'text "' || i || '"' END AS t FROM generate_series(1, 3000) i;
		CREATE FUNCTION speak() RETURNS int LANGUAGE plpgsql AS
			$$ BEGIN RAISE NOTICE 'from %', current_database(); RETURN 1; END $$;
	});
	$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS pg_shuttle CASCADE');
	$node->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname '$name');
		CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
		CREATE FOREIGN TABLE ${name}_numbers (id int, t text) SERVER $name OPTIONS (table_name 'numbers')});
}
$node->safe_psql('postgres', "CREATE SERVER stock FOREIGN DATA WRAPPER postgres_fdw");
my $session = ShuttleSession->new($node, 'postgres');
my $watcher = ShuttleSession->new($far, 'a');
my $idle = $watcher->pid;

sub answer
{
	my ($call, $columns) = @_;
	my ($out, $err) = $session->run("SELECT " . ($columns // '*') . " FROM shuttle.run_on_nodes($call);");
	return $out . $err;
}

# ---- what comes back

is(answer(q{'SELECT id, t, id > 1 AS more FROM numbers WHERE id <= 3 ORDER BY id'}), join("\n", map {
	$_ . q{|t|SELECT 3|3|[{"id": "1", "t": "text \"1\"", "more": "f"}, {"id": "2", "t": "text \"2\"", "more": "t"}, {"id": "3", "t": null, "more": "t"}]||}
} 'a', 'b'), 'rows');
is(answer(q{'SELECT 1 WHERE false', '{b}'}), 'b|t|SELECT 0|0|[]||', 'no rows, of one node');
is(answer(q{'UPDATE numbers SET t = NULL WHERE id < 11', '{b,a,b}'}), "b|t|UPDATE 10|10|||\na|t|UPDATE 10|10|||", 'a count, in the order asked for');
is(answer(q{'CREATE TABLE made (id int)'}), "a|t|CREATE TABLE||||\nb|t|CREATE TABLE||||", 'neither rows nor count');
is(answer(q{'SELECT * FROM numbers', '{a}'}, 'status, rows, json_array_length(result)'), 'SELECT 3000|3000|1000', 'many rows are counted, the first are kept');
is(answer(q{'INSERT INTO made VALUES (1); SELECT * FROM made; UPDATE made SET id = 2; SELECT id FROM made', '{a}'}),
	'a|t|SELECT 1|1|[{"id": "2"}]||', 'the last of several statements');
is(answer(q{'', '{a}'}), 'a|t|||||', 'no statement at all');
is(answer(q{NULL}), '', 'nor a text');
is(answer(q{'SELECT 1', '{}'}), '', 'nor a node');
is(answer(q{'SHOW search_path', '{a}'}, 'result'), '[{"search_path": "\"$user\", public"}]', 'the settings of the node');

# ---- what needs to be outside of a transaction

is(answer(q{'VACUUM numbers'}), "a|t|VACUUM||||\nb|t|VACUUM||||", 'VACUUM');
is(answer(q{'CREATE INDEX CONCURRENTLY numbers_id ON numbers (id)'}), "a|t|CREATE INDEX||||\nb|t|CREATE INDEX||||", 'CREATE INDEX CONCURRENTLY');
$session->run('BEGIN;');
is(answer(q{'INSERT INTO made VALUES (100)', '{b}'}), 'b|t|INSERT 0 1|1|||', 'within a transaction block');
$session->run('ROLLBACK;');
is(answer(q{'SELECT id FROM made', '{b}'}, 'result'), '[{"id": "100"}]', 'it stays when that rolls back');
$session->run('BEGIN; SELECT count(*) FROM a_numbers;');
like(answer(q{'SELECT 1'}), qr/^ERROR:  55006: cannot run a statement on storage node "a" because this transaction uses it\n.*HINT: /s, 'not where the transaction uses the node');
$session->run('ROLLBACK; BEGIN READ ONLY;');
is(answer(q{'INSERT INTO made VALUES (7)', '{a}'}), 'a|f||||25006|cannot execute INSERT in a read-only transaction', 'a transaction that only reads');
is(answer(q{'SELECT 1 AS one', '{a}'}, 'ok'), 't', 'which may read');
$session->run('ROLLBACK;');

# ---- what fails

$far->safe_psql('b', 'DROP TABLE made');
is(answer(q{'DELETE FROM made'}), qq{a|t|DELETE 1|1|||\nb|f||||42P01|relation "made" does not exist}, 'one node refuses');
is(answer(q{'SELECT 1 / (id - 2000) FROM numbers ORDER BY id', '{a}'}), 'a|f||||22012|division by zero', 'behind many rows');
is(answer(q{$$DO 'BEGIN RAISE EXCEPTION ''no'' USING DETAIL = ''a detail'', HINT = ''a hint''; END'$$, '{a}'}, 'error'), "no\nDETAIL: a detail\nHINT: a hint", 'detail and hint');
is(answer(q{'COPY numbers TO STDOUT', '{a}'}, 'ok, sqlstate'), 'f|0A000', 'COPY to the client');
is(answer(q{'COPY numbers FROM STDIN', '{a}'}, 'ok, sqlstate'), 'f|0A000', 'and from it');
is(answer(q{'SELECT pg_terminate_backend(pg_backend_pid())', '{a}'}, 'ok, sqlstate'), 'f|57P01', 'a connection that is ended');
like(answer(q{'SELECT 1', '{a,stock}'}), qr/^ERROR:  42809/, 'a server of another wrapper');
like(answer(q{'SELECT 1', '{a,NULL}'}), qr/^ERROR:  22004/, 'no name');
$session->run(qq{
	CREATE SERVER closed FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$closed_port', dbname 'a');
	CREATE USER MAPPING FOR CURRENT_USER SERVER closed OPTIONS (user '$user');
	CREATE SERVER mute FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$mute_port', dbname 'a', connect_timeout '2');
	CREATE USER MAPPING FOR CURRENT_USER SERVER mute OPTIONS (user '$user');
	CREATE SERVER unmapped FOREIGN DATA WRAPPER shuttle;});
is(answer(q{'SELECT 1'}, 'server, ok, sqlstate, error IS NOT NULL'),
	"a|t||f\nb|t||f\nclosed|f|08001|t\nmute|f|08001|t\nunmapped|f|42704|t", 'others cannot be reached');

# ---- all at once, and cancelled

answer(q{'SELECT pg_sleep(2)', '{a,b}'});
cmp_ok($session->seconds, '<', 3.7, 'all at once');
my $naps = q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'};
for my $how ('cancel', 'statement_timeout')
{
	$session->run("SET statement_timeout = '500ms';") if $how eq 'statement_timeout';
	$session->send(q{SELECT * FROM shuttle.run_on_nodes('SELECT pg_sleep(60)', '{a,b}');});
	ok($watcher->poll("SELECT ($naps) = 2"), "$how: both run");
	if ($how eq 'cancel')
	{
		my $shown = $version < 170000 ? 'Extension' : 'ShuttleRunOnNodes';
		is($node->safe_psql('postgres', 'SELECT wait_event FROM pg_stat_activity WHERE pid = ' . $session->pid), $shown, 'the wait has its name');
		$node->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')');
	}
	like(($session->result)[1], qr/^ERROR:  57014/, "$how: ends it");
	ok($watcher->poll("SELECT ($naps) = 0", 5), "$how: on the nodes as well");
	$session->run('RESET statement_timeout;');
}
is((answer(q{'SELECT 1', '{a}'}, 'ok')), 't', 'the session is usable');
$session->run('SELECT shuttle.disconnect();');
ok($watcher->poll("SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle%'"), 'no connection stays');
my ($out, $err) = $session->run(q{SELECT ok FROM shuttle.run_on_nodes('SELECT speak()', '{a,b}');});
like($err, qr/storage node "a": from a/, 'a notice of one node');
like($err, qr/storage node "b": from b/, 'and of the other');

# ---- who may

$node->safe_psql('postgres', qq{
	CREATE ROLE plain LOGIN;
	CREATE USER MAPPING FOR plain SERVER a OPTIONS (user '$user', password_required 'false');
	CREATE USER MAPPING FOR plain SERVER b OPTIONS (user '$user');});
my $plain = ShuttleSession->new($node, 'postgres', '-U', 'plain');
like(($plain->run(q{SELECT * FROM shuttle.run_on_nodes('SELECT 1', '{a}');}))[1], qr/^ERROR:  42501: permission denied for function run_on_nodes/, 'not everybody');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION shuttle.run_on_nodes(text, name[]) TO plain');
is(($plain->run(q{SELECT server, ok, sqlstate, error FROM shuttle.run_on_nodes('SELECT 1', '{a}');}))[0], 'a|f|42501|permission denied for foreign server a', 'not without USAGE');
$node->safe_psql('postgres', 'GRANT USAGE ON FOREIGN SERVER a, b TO plain');
is(($plain->run(q{SELECT server, ok FROM shuttle.run_on_nodes('SELECT 1', '{a}');}))[0], 'a|t', 'who was granted both');
like(($plain->run(q{SELECT server, ok FROM shuttle.run_on_nodes('SELECT 1', '{b}');}))[1], qr/^ERROR:  2F003: password.*CONTEXT:  storage node "b"/s, 'by the rule about passwords');

# ---- more servers than this one may have sockets

$_->quit for $session, $plain;
$node->append_conf('postgresql.conf', 'max_files_per_process = 70');
$node->restart;
$node->safe_psql('postgres', join '', map { "CREATE SERVER many$_ FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'a');
	CREATE USER MAPPING FOR CURRENT_USER SERVER many$_ OPTIONS (user '$user');" } 1 .. 40);
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT error, '') FROM shuttle.run_on_nodes('SELECT 1', ARRAY(SELECT srvname FROM pg_foreign_server WHERE srvname ~ 'many'))
	HAVING count(*) = 40 AND bool_or(ok)}), 'there are too many open files on the local server', 'too many servers: some are told of');

$watcher->quit;
$far->stop;
$node->stop;
done_testing();
