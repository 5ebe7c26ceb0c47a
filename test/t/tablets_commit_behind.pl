# An INSERT into a distributed table that is a transaction by itself takes one round trip, with its
# COMMIT; so does a routed UPDATE or DELETE, and a call that a node executes. Its errors are those of a local table; a lost answer is told as such.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5\nshuttle.recovery_interval = 1");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$far->start;
$far->safe_psql('postgres', 'CREATE DATABASE two');
my $proxy = ShuttleProxy->new($far);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER one FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '@{[ $proxy->port ]}', dbname 'postgres');
	CREATE SERVER two FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname 'two');
	CREATE USER MAPPING FOR PUBLIC SERVER one OPTIONS (user '$user');
	CREATE USER MAPPING FOR PUBLIC SERVER two OPTIONS (user '$user');
	SELECT shuttle.use_node('one'), shuttle.use_node('two');
	CREATE TABLE item (id int PRIMARY KEY, n int CHECK (n > 0));
	SELECT shuttle.distribute_table('item', 'id', tablets => 4, nodes => '{one}');
	CREATE TABLE both_nodes (id int PRIMARY KEY);
	SELECT shuttle.distribute_table('both_nodes', 'id', tablets => 2);
	CREATE FOREIGN TABLE plain (id int) SERVER one;
	CREATE TABLE here (id int PRIMARY KEY);
	CREATE FUNCTION add_items(first int, count int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN FOR i IN first .. first + count - 1 LOOP INSERT INTO item VALUES (i, 1); END LOOP; RETURN count; END';
	CREATE PROCEDURE add_two(first int) LANGUAGE plpgsql AS
		'BEGIN INSERT INTO item VALUES (first, 1); INSERT INTO item VALUES (first + 1, 1); END';
	CREATE TABLE part (id int PRIMARY KEY);
	SELECT shuttle.distribute_table('part', 'id', colocate_with => 'item');
	ALTER TABLE part ADD FOREIGN KEY (id) REFERENCES item DEFERRABLE INITIALLY DEFERRED;
	CREATE FUNCTION put_part(i int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN INSERT INTO part VALUES (i); RAISE NOTICE ''put''; RETURN i; END';
	CREATE FUNCTION raise_item(i int, by int, OUT was int, OUT is_now int) LANGUAGE plpgsql AS
		'BEGIN UPDATE item SET n = n + by WHERE id = i RETURNING n - by, n INTO was, is_now; END';
	CREATE PROCEDURE set_item(i int, to_this int) LANGUAGE plpgsql AS 'BEGIN UPDATE item SET n = to_this WHERE id = i; END';
	CREATE FUNCTION see_item(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT n FROM item WHERE id = i); END';
	CREATE FUNCTION put_item(i int, other int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN INSERT INTO item VALUES (i, 7); UPDATE item SET n = n WHERE id = other; RETURN i; EXCEPTION WHEN check_violation THEN RETURN 0; END';
	CREATE FUNCTION wait_item(i int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN UPDATE item SET n = n + 1 WHERE id = i; PERFORM pg_sleep(1); RETURN i; END';
	CREATE FUNCTION all_items(i int) RETURNS SETOF int LANGUAGE plpgsql AS
		'BEGIN RETURN QUERY UPDATE item SET n = n WHERE id = i RETURNING n; END';
	SELECT shuttle.distribute_function(oid, '\$1', 'item') FROM pg_proc
		WHERE proname IN ('raise_item', 'set_item', 'see_item', 'put_item', 'wait_item', 'all_items', 'put_part')
});
$far->safe_psql('postgres', 'CREATE TABLE plain (id int)');
my $session = ShuttleSession->new($node, 'postgres');
$session->run('SELECT count(*) FROM item; SELECT add_items(1001, 8);');
$session->run('SELECT raise_item(1001, 1), see_item(1001), put_item(1009, 1009), wait_item(1009), all_items(1009); CALL set_item(1001, 1); DELETE FROM item WHERE id = 1009;');

sub costs
{
	my ($trips, $statement, $expected, $label) = @_;

	$proxy->delay_ms(20);		# no answer comes before all is sent
	$proxy->trips($session->pid);
	my ($out, $err) = $session->run("$statement;");
	$proxy->delay_ms(0);
	is("$out$err", $expected, "$label: answer");
	is($proxy->trips($session->pid), $trips, "$label: $trips round trips");
	return;
}

sub count_items
{
	return $node->safe_psql('postgres', 'SELECT count(*) FROM item');
}

# ---- what it costs, and that it is there

costs(1, 'INSERT INTO item VALUES (1, 1)', '', 'one row');
costs(1, 'INSERT INTO item SELECT i, 1 FROM generate_series(2, 20) AS i', '', 'many rows');
costs(1, 'SELECT add_items(21, 5)', '5', 'a function');
costs(1, 'CALL add_two(26)', '', 'a procedure');
costs(2, 'INSERT INTO plain VALUES (1)', '', 'a foreign table that is no tablet');
costs(2, 'INSERT INTO item VALUES (28, 1) RETURNING id', '28', 'RETURNING');
costs(2, 'BEGIN; INSERT INTO item VALUES (29, 1); COMMIT', '', 'a block');
is(count_items(), 8 + 29, 'all rows are there');

costs(1, 'UPDATE item SET n = 2 WHERE id = 1', '', 'an UPDATE');
costs(1, 'DELETE FROM item WHERE id = 1', '', 'a DELETE');
costs(2, 'INSERT INTO item VALUES (1, 1); UPDATE item SET n = 5 WHERE id = 1', '', 'two statements, each for itself');
costs(1, 'UPDATE item SET n = n + 1 WHERE id = 2 RETURNING n', '2', 'UPDATE with RETURNING');
costs(2, 'BEGIN; UPDATE item SET n = n + 1 WHERE id = 2; COMMIT', '', 'an UPDATE in a block');
costs(1, 'SELECT * FROM raise_item(2, 4)', '3|7', 'a call');
costs(1, 'SELECT see_item(2)', '7', 'a call that only reads');
costs(1, 'CALL set_item(2, 1)', '', 'CALL');
costs(2, 'SELECT all_items(2)', '1', 'a call that returns rows');
costs(2, 'BEGIN; CALL set_item(2, 3); COMMIT', '', 'CALL in a block');
costs(1, 'SELECT put_item(2001, 2001)', '2001', 'a call that adds a row');
costs(1, 'DELETE FROM item WHERE id = 2001', '', 'that row');
$session->run('DECLARE held CURSOR WITH HOLD FOR SELECT 1;');
costs(1, 'UPDATE item SET n = 3 WHERE id = 2', '', 'an UPDATE beside a cursor of an earlier transaction');
$session->run('CLOSE held;');
is($node->safe_psql('postgres', 'SELECT string_agg(n::text, $$,$$ ORDER BY id) FROM item WHERE id < 5'), '5,3,1,1', 'all changes are there');
is(count_items(), 8 + 29, 'still all rows');

# ---- errors

for my $statement ('INSERT INTO item VALUES (1, 1)', 'INSERT INTO item SELECT i, 1 FROM generate_series(29, 40) AS i', 'SELECT add_items(29, 3)')
{
	my (undef, $err) = $session->run("$statement;");
	like($err, qr/^ERROR:  23505: duplicate key value violates unique constraint/m, "$statement: a key that is there");
}
my (undef, $err) = $session->run('INSERT INTO item VALUES (41, 0);');
like($err, qr/^ERROR:  23514: new row for relation ".*" violates check constraint "item_n_check"/m, 'a check');
(undef, $err) = $session->run('BEGIN; INSERT INTO here VALUES (1); COMMIT; CREATE RULE too AS ON INSERT TO here DO ALSO INSERT INTO item VALUES (NEW.id, 1);
	INSERT INTO here VALUES (28);');
like($err, qr/^ERROR:  23505/m, 'a rule');
is(count_items() . $node->safe_psql('postgres', 'SELECT count(*) FROM here'), (8 + 29) . '1', 'nothing is there of what failed');

# ---- a call or a write that fails is rolled back, and the call runs here, once

for my $statement ('UPDATE item SET n = 0 WHERE id = 2', 'SELECT * FROM raise_item(2, -9)', 'CALL set_item(2, 0)')
{
	(undef, $err) = $session->run("$statement;");
	like($err, qr/^ERROR:  23514/m, "$statement: a check");
}
(undef, $err) = $session->run('SELECT put_part(3000);');
like($err, qr/^NOTICE: .*put\n(?:.*\n)*ERROR:  23503/m, 'a key that is checked at COMMIT');
is(join(',', ($session->run('SELECT put_item(2002, 2);'))[0], ($session->run('SELECT put_part(2002);'))[0]), '2002,2002', 'calls behind that');
$session->run('ALTER TABLE item ADD CHECK (id <> 2003);');
is(($session->run('SELECT put_item(2003, 2);'))[0], '0', 'a call that catches an error');
$session->run('DELETE FROM part WHERE id = 2002;');
$session->run('DELETE FROM item WHERE id = 2002;');
is($node->safe_psql('postgres', 'SELECT n FROM item WHERE id = 2'), '3', 'nothing was done of what failed');

# ---- a call whose prepared statement is outdated is not sent again without its settings

for my $type ('int', 'text')
{
	$session->run("DROP FUNCTION IF EXISTS typed(int); CREATE FUNCTION typed(i int) RETURNS $type LANGUAGE plpgsql AS
		'BEGIN UPDATE item SET n = n WHERE id = i; RETURN i; END';");
	$session->run(q{SELECT shuttle.distribute_function('typed(int)', '$1', 'item');});
	is(($session->run('SELECT typed(2);'))[0], '2', "a call that returns $type, for the ${_}th time") for 1 .. 3;
	costs(1, 'SELECT typed(2)', '2', "a call that returns $type");
}

# ---- several nodes: PREPARE TRANSACTION goes behind the rows

$session->run('INSERT INTO both_nodes SELECT generate_series(1, 10);');
costs(2, 'INSERT INTO both_nodes SELECT generate_series(11, 20)', '', 'two nodes');
(undef, $err) = $session->run('INSERT INTO both_nodes SELECT generate_series(20, 30);');
like($err, qr/^ERROR:  23505/m, 'two nodes: a key that is there');
is($node->safe_psql('postgres', 'SELECT count(*) FROM both_nodes'), 20, 'two nodes: all or nothing');

# ---- the extended protocol: the client's Sync must be next

sub run_script
{
	my ($mode, $text) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir . '/script.sql';
	my ($out, $err);

	open my $handle, '>', $script or die;
	print $handle $text;
	close $handle;
	IPC::Run::run([ 'pgbench', '-n', '-M', $mode, '-t', 1, '-f', $script, $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	return $err;
}

my $first = 100;
for my $mode ('simple', 'extended', 'prepared')
{
	my @inserts = map { "INSERT INTO item VALUES (@{[ $first++ ]}, 1);\n" } 1 .. 2;
	unlike(run_script($mode, join '', 'SELECT count(*) FROM item;', "\n", @inserts), qr/error/i, "$mode protocol");
}
is(count_items(), 8 + 29 + 6, 'each protocol: all rows are there');

my $log_size = -s $node->logfile;
run_script('extended', "SELECT count(*) FROM item;\n\\startpipeline\nINSERT INTO item VALUES (401, 1);
	INSERT INTO item VALUES (1, 1);\nINSERT INTO item VALUES (402, 1);\n\\endpipeline\n");
like(PostgreSQL::Test::Utils::slurp_file($node->logfile, $log_size),
	qr/ERROR:  duplicate key[^\n]*\n(?:[^\n]*(?:DETAIL|CONTEXT)[^\n]*\n)*[^\n]*STATEMENT:  INSERT INTO item VALUES \(1, 1\)/,
	'a pipeline: the error is that of its statement');
is(count_items(), 8 + 29 + 6, 'a pipeline: it is one transaction');
for my $statement ('UPDATE item SET n = 90 WHERE id = 2', 'SELECT raise_item(2, 91)', 'CALL set_item(2, 92)')
{
	run_script('extended', "SELECT count(*) FROM item;\n\\startpipeline\nDECLARE c CURSOR WITH HOLD FOR SELECT 1 / (i - 1) FROM generate_series(1, 2) AS i;
		$statement;\n\\endpipeline\n");
	is($node->safe_psql('postgres', 'SELECT n FROM item WHERE id = 2'), '3', "$statement: a cursor that fails at COMMIT undoes it");
}

# ---- waits can be cancelled, and a lost answer is told

my $blocker = ShuttleSession->new($node, 'postgres');
$blocker->run('BEGIN; INSERT INTO item VALUES (500, 1) RETURNING id;');
$session->send('INSERT INTO item VALUES (500, 2);');
ok($far->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'transactionid'}), 'it waits for a lock');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
(undef, $err) = $session->result;
like($err, qr/^ERROR:  57014/m, 'it is cancelled');
$blocker->run('ROLLBACK;');
is($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id = 500'), 0, 'a cancelled one is not there');

$session->run('SELECT count(*) FROM item;');
$proxy->mute(1);
$session->send('INSERT INTO item VALUES (501, 1);');
ok($far->poll_query_until('postgres', 'SELECT count(*) = 1 FROM item WHERE id = 501'), 'it has committed, and nobody hears of it');
$proxy->reset;
(undef, $err) = $session->result;
like($err, qr/^ERROR:  08007: .*^HINT:  It was lost during COMMIT/ms, 'that is told');
$proxy->mute(0);

for my $statement ('UPDATE item SET n = 60 WHERE id = 501', 'SELECT * FROM raise_item(501, 1)', 'CALL set_item(501, 62)')
{
	my $n = $statement =~ /60/ ? 60 : $statement =~ /62/ ? 62 : 61;
	$session->run('SELECT count(*) FROM item;');
	$proxy->mute(1);
	$session->send("$statement;");
	ok($far->poll_query_until('postgres', "SELECT n = $n FROM item WHERE id = 501"), "$statement has committed, and nobody hears of it");
	$proxy->reset;
	(undef, $err) = $session->result;
	like($err, qr/^ERROR:  08007: .*^HINT:  It was lost during COMMIT/ms, 'that is told');
	$proxy->mute(0);
	is($node->safe_psql('postgres', 'SELECT n FROM item WHERE id = 501'), $n, 'it was done once');
}

# a cancel ends the call; if it comes when the node has committed, it comes too late
$session->run('SELECT count(*) FROM item;');
$session->send('SELECT wait_item(501);');
ok($far->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'}), 'it works');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
(undef, $err) = $session->result;
like($err, qr/^ERROR:  57014/m, 'it is cancelled');
is($node->safe_psql('postgres', 'SELECT n FROM item WHERE id = 501'), 62, 'a cancelled call has done nothing');
for my $statement ('UPDATE item SET n = 70 WHERE id = 501', 'SELECT * FROM raise_item(501, 1)', 'CALL set_item(501, 72)')
{
	my $n = $statement =~ /70/ ? 70 : $statement =~ /72/ ? 72 : 71;
	$session->run('SELECT count(*) FROM item;');
	$proxy->delay_ms(300);
	$session->send("$statement;");
	ok($far->poll_query_until('postgres', "SELECT n = $n FROM item WHERE id = 501"), "$statement has committed");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
	(undef, $err) = $session->result;
	$proxy->delay_ms(0);
	unlike($err, qr/ERROR/, 'a cancel comes too late');
	is($node->safe_psql('postgres', 'SELECT n FROM item WHERE id = 501'), $n, 'it was done once');
}
is(($session->run('SELECT see_item(501);'))[0], 72, 'the session goes on');

# a connection that was idle for long may be dead: the rows are sent alone, and can be sent again
is(count_items(), 8 + 29 + 6 + 1, 'it is there');
$session->run('INSERT INTO item VALUES (502, 1);');
$far->restart;
my $out;
($out, $err) = $session->run('INSERT INTO item VALUES (503, 1);');
is("$out$err", '', 'a node that has restarted');

# ---- a connection that breaks between the rows and COMMIT: they are sent again

$node->safe_psql('postgres', q{CREATE FUNCTION add_and_wait(id int) RETURNS int LANGUAGE plpgsql AS
	'BEGIN INSERT INTO item VALUES (id, 1); PERFORM pg_advisory_xact_lock(1); RETURN id; END'});
$session->run('SELECT add_and_wait(505);');
$blocker->run('BEGIN; SELECT pg_advisory_xact_lock(1);');
$proxy->mute(1);
$session->send('SELECT add_and_wait(506);');
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), 'the row is sent');
$proxy->reset;
$proxy->mute(0);
$blocker->run('COMMIT;');
($out, $err) = $session->result;
is("$out$err", '506', 'a connection broke before COMMIT');
is($node->safe_psql('postgres', 'SELECT count(*) FROM item WHERE id = 506'), 1, 'the row is there');

# ---- a trigger on a node that keeps rows out

$far->safe_psql('postgres', q{CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'});
$far->safe_psql('postgres', "CREATE TRIGGER nothing BEFORE INSERT ON item_t$_ FOR EACH ROW EXECUTE FUNCTION nothing()") for 0 .. 3;
(undef, $err) = $session->run('INSERT INTO item VALUES (504, 1);');
like($err, qr/^ERROR:  40001: could not write all rows/m, 'rows that a trigger of the node kept out');

done_testing();
