# INSERTs of functions that are not waited for: how often the node is, over a line of
# 100 ms, and what becomes of cancels and connections that are lost meanwhile.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start('CREATE TABLE item (id int PRIMARY KEY, n int); CREATE TABLE part_0 (id int PRIMARY KEY, n int); CREATE TABLE part_1 (LIKE part_0 INCLUDING ALL)',
	conf => 'max_prepared_transactions = 5');
my $port = $proxy->port;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE SERVER near FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '$port', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER near OPTIONS (user '$user');
	CREATE FOREIGN TABLE item (id int, n int) SERVER far;
	CREATE TABLE parted (id int, n int) PARTITION BY LIST (n);
	CREATE FOREIGN TABLE part_0 PARTITION OF parted FOR VALUES IN (0) SERVER far;
	CREATE FOREIGN TABLE part_1 PARTITION OF parted FOR VALUES IN (1) SERVER near;
	CREATE FUNCTION puts(first int, n int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN FOR i IN first .. first + n - 1 LOOP INSERT INTO item VALUES (i, n); END LOOP; END';
	CREATE FUNCTION reads(first int) RETURNS bigint LANGUAGE plpgsql AS
		'BEGIN PERFORM puts(first, 10); RETURN (SELECT count(*) FROM item WHERE id >= first); END';
	CREATE FUNCTION guards(first int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN PERFORM puts(first, 5); BEGIN PERFORM puts(first + 5, 5); EXCEPTION WHEN unique_violation THEN RAISE WARNING ''caught''; END; PERFORM puts(first + 10, 5); END';
	CREATE FUNCTION guards_each(first int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN FOR i IN first .. first + 9 LOOP BEGIN INSERT INTO item VALUES (i, 1); EXCEPTION WHEN unique_violation THEN RAISE WARNING ''caught''; END; END LOOP; END';
	CREATE FUNCTION leaves(first int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN PERFORM puts(first, 5); RAISE division_by_zero; END';
	CREATE PROCEDURE commits(first int) LANGUAGE plpgsql AS
		'BEGIN PERFORM puts(first, 5); COMMIT; PERFORM puts(first + 5, 5); END';
	CREATE FUNCTION twice(first int) RETURNS text LANGUAGE plpgsql AS
		'BEGIN BEGIN PERFORM puts(first, 1); PERFORM puts(first, 1); EXCEPTION WHEN unique_violation THEN RETURN ''caught''; END; RETURN ''left''; END';
	CREATE FUNCTION rolls_back(first int) RETURNS text LANGUAGE plpgsql AS
		'BEGIN
			BEGIN
				PERFORM puts(first, 2); PERFORM puts(first, 1);
			EXCEPTION WHEN unique_violation THEN RAISE WARNING ''caught'';
			END;
			BEGIN
				PERFORM puts(first + 5, 1); PERFORM 1 / 0;
			EXCEPTION WHEN division_by_zero THEN RAISE WARNING ''rolled back'';
			END;
			RETURN ''done'';
		END';
	CREATE FUNCTION spreads(first int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN FOR i IN first .. first + 9 LOOP INSERT INTO parted VALUES (i, i % 2); END LOOP; END';
	CREATE FUNCTION stops(first int) RETURNS void LANGUAGE plpgsql AS
		'BEGIN PERFORM reads(first), puts(first + 10, 5), pg_advisory_xact_lock(1); PERFORM puts(first + 15, 5); END';
});
my $session = ShuttleSession->new($node, 'postgres');
my $first = 0;

# How often nodes were waited for, and what was said.  A session that is slow to say what
# it need not wait for would speak behind an answer, were it to come at once.
sub trips
{
	my ($statement, $setting) = @_;
	$first += 100;
	$statement =~ s/FIRST/$first/g;
	$session->run("SET shuttle.enable_write_behind = $setting;");
	$proxy->delay_ms($setting eq 'on' ? 100 : 0);
	$proxy->trips;
	my ($out, $err) = $session->run("$statement;");
	$proxy->delay_ms(0);
	return ($proxy->trips, $err);
}

sub count_of
{
	my $where = shift;
	return $node->safe_psql('far', "SELECT count(*) FROM item WHERE $where");
}

# The first INSERT of a session asks what the table is like.
$session->run('SELECT puts(1, 2); SELECT spreads(1);');
for my $case (
	[ '10 INSERTs', 'SELECT puts(FIRST, 10)', 11, 2 ],
	[ 'and a read', 'SELECT reads(FIRST)', 12, 3 ],
	[ 'DO', 'DO $$ BEGIN PERFORM puts(FIRST, 10); END $$', 11, 2 ],
	[ 'a block with EXCEPTION', 'SELECT guards(FIRST)', 16, 8 ],
	[ 'a block for each', 'SELECT guards_each(FIRST)', 11, 11 ],
	[ 'COMMIT in a procedure', 'CALL commits(FIRST)', 12, 4 ],
	[ 'an error of another kind', 'SELECT leaves(FIRST)', 6, 2 ],
	# behind PREPARE TRANSACTION and COMMIT PREPARED of two nodes
	[ 'partitions of two nodes', 'SELECT spreads(FIRST)', 12, 6 ],
	[ 'one INSERT', 'INSERT INTO item VALUES (FIRST, 1)', 2, 2 ])
{
	my ($name, $statement, $off, $on) = @$case;
	my ($trips) = trips($statement, 'off');
	cmp_ok($trips, '>=', $off, "$name: waited for each");
	($trips) = trips($statement, 'on');
	cmp_ok($trips, '<=', $on, "$name: not waited for");
}
$session->run('SET shuttle.strict_savepoints = off;');
my ($trips) = trips('SELECT guards_each(FIRST)', 'on');
cmp_ok($trips, '<=', 3, 'a block for each, savepoints are not strict');
is(count_of("id BETWEEN $first AND $first + 9"), 10, 'and all are there');
# An error that comes behind its block, and behind a savepoint that the node has ignored,
# however slow the node is.
$proxy->delay_ms(500);
my ($out, $err) = $session->run("SELECT twice(40000);");
like($out . $err, qr/^ERROR:  23505: duplicate key/, 'an error behind its block');
($out, $err) = $session->run("SELECT rolls_back(40000);");
like($err, qr/rolled back.*ERROR:  23505: duplicate key/s, 'a savepoint rolled back behind a failed INSERT');
$proxy->delay_ms(0);
is(count_of('id >= 40000'), 0, 'and nothing is written');
($out, $err) = $session->run("SELECT reads(40100);");
is($out . $err, '10', 'the next transaction goes on');
$session->run('RESET shuttle.strict_savepoints;');
($out, $err) = $session->run("SELECT twice(40000);");
is($out . $err, 'caught', 'strict: an error in its block');
($out, $err) = $session->run("SELECT rolls_back(40200);");
like($out . $err, qr/^done.*caught.*rolled back/s, 'strict: each in its block');
is(count_of('id BETWEEN 40200 AND 40299'), 0, 'and undone there');

# A row that another session holds: the INSERT waits there, and the function does not.
my $holder = ShuttleSession->new($node, 'far');
$holder->run('BEGIN; INSERT INTO item VALUES (50003, 0);');
($out, $err) = $session->run("SET statement_timeout = '1s'; SELECT puts(50000, 5);");
like($err, qr/canceling statement due to statement timeout/, 'statement_timeout while the answers are waited for');
$session->run('RESET statement_timeout;');
$holder->run('ROLLBACK;');
is(count_of('id >= 50000'), 0, 'and nothing is written');
($out, $err) = $session->run('SELECT reads(50000);');
is($out, '10', 'the connection is of use');
is(count_of('id >= 50000'), 10, 'and all is written');

# The other session commits: the error is that of the INSERT, not of what came behind.
$holder->run('BEGIN; INSERT INTO item VALUES (51003, 0);');
$session->send('SELECT reads(51000);');
$node->poll_query_until('far', "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = 'far' AND wait_event_type = 'Lock'")
	or die 'it does not wait';
$holder->run('COMMIT;');
($out, $err) = $session->result;
like($err, qr/duplicate key value violates unique constraint "item_pkey"/, 'a duplicate that was committed meanwhile');
like($err, qr/request: INSERT INTO public\.item.*PL\/pgSQL function puts\(integer,integer\) line 1 at SQL statement/s,
	'with the context of its statement');
$holder->quit;

# Connections that are lost: idle, in the middle, and with all sent.  In the middle, an
# answer was read before: without one, all would be sent again.
my $gate = ShuttleSession->new($node, 'postgres');
$proxy->reset;
($out, $err) = $session->run('SELECT reads(60000);');
is($out . $err, '10', 'a connection that had ended: all are sent again, in their order');
$proxy->cut(1);
($out, $err) = $session->run('SELECT reads(61000);');
is($out . $err, '10', 'a connection that had ended, as is seen when it is written to');
$gate->run('SELECT pg_advisory_lock(1);');
$session->send('SELECT stops(62000);');
$gate->poll("SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = " . $session->pid)
	or die 'it does not stop';
$proxy->reset;
$gate->run('SELECT pg_advisory_unlock(1);');
($out, $err) = $session->result;
like($err, qr/connection to storage node "far" was lost/, 'a connection that is lost in the middle');
is(count_of('id >= 62000'), 0, 'and nothing is written');
$session->run('SELECT puts(62000, 1);');	# asks again what the table is like
$proxy->mute(1);
$session->send('SELECT puts(63000, 10);');
$node->poll_query_until('far', "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = 'far' AND query LIKE 'INSERT%' AND state LIKE 'idle in%'")
	or die 'no INSERT came';
$proxy->drop;
$proxy->mute(0);
($out, $err) = $session->result;
is($err, '', 'a connection that is lost with all answers: all are sent again');
is(count_of('id >= 63000'), 10, 'and written once');
($out, $err) = $session->run('SELECT reads(64000);');
is($out . $err, '10', 'the next transaction goes on');

# Each statement of the session's transaction fails in its turn.
for my $n (1 .. 16)
{
	my $id = 70000 + 100 * $n;
	$session->run("SELECT puts($id - 50, 1);");
	$proxy->inject($n);
	($out, $err) = $session->run("SELECT guards($id);");
	my (undef, $failed) = $proxy->report;
	$proxy->inject(-1);
	my $rows = count_of("id BETWEEN $id AND $id + 14");
	if ($failed eq '') { is("$rows$err", '15', "statement $n: none"); last; }
	is($rows, $err =~ /ERROR/ ? 0 : 15, "statement $n fails: all or nothing ($failed)");
}

# A BEGIN that fails takes along what was sent behind its packet, also of one statement.
$session->run("SET shuttle.write_buffer_size = '1kB'; INSERT INTO item SELECT i, 1 FROM generate_series(80000, 80010) i;");
$proxy->inject(1);
($out, $err) = $session->run('INSERT INTO item SELECT i, 1 FROM generate_series(80100, 80200) i;');
$proxy->inject(-1);
like($err, qr/ERROR:  42703/, 'BEGIN fails');
is(count_of('id >= 80100'), 0, 'and nothing is written');

$session->quit;
$node->stop;
done_testing();
