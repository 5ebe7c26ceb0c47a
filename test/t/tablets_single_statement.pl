# A statement by its key that is a transaction by itself reaches the node alone, without BEGIN, COMMIT and names. What needs
# a transaction, or comes behind it, gets one.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "max_prepared_transactions = 5\nlog_statement = 'all'\nlog_line_prefix = '[%p] '");
$far->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER one FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname 'postgres');
	CREATE USER MAPPING FOR PUBLIC SERVER one OPTIONS (user '$user');
	SELECT shuttle.use_node('one');
	CREATE TABLE item (id int, no int, n int, PRIMARY KEY (id, no));
	SELECT shuttle.distribute_table('item', 'id', tablets => 4);
	INSERT INTO item SELECT i, j, i FROM generate_series(1, 40) AS i, generate_series(1, 5) AS j;
	INSERT INTO item SELECT 100, j, j FROM generate_series(1, 100000) AS j;
});

my $session = ShuttleSession->new($node, 'postgres');
$session->run("SELECT n FROM item WHERE id = $_ AND no = 1;") for 1 .. 10;

# The commands that the session's statements need beside settings and COMMIT, and their answer.
sub asks
{
	my ($statements, $expected, $answer) = @_;
	my $size = -s $far->logfile;
	my ($out, $err) = $session->run("$statements;");
	my $log = substr(slurp_file($far->logfile), $size);
	# nobody waits for the COMMIT of a read; settings are set in two ways
	my @commands = $log =~ /(?:execute \S+|statement): (?!COMMIT|SET |SELECT pg_catalog\.set_config)(\w+)/g;

	is("$out$err", $answer, "$statements: answer");
	is("@commands", $expected, "$statements: commands");
	return;
}
asks('SELECT n FROM item WHERE id = 7 AND no = 1', 'SELECT', '7');
asks('SELECT n FROM item WHERE id = 8 AND no = 1', 'SELECT', '8');
asks('SELECT sum(n) FROM item WHERE id = 8', 'SELECT', '40');
asks('BEGIN; SELECT n FROM item WHERE id = 7 AND no = 1; COMMIT', 'BEGIN SELECT', '7');
asks("SET default_transaction_isolation = 'repeatable read'; SELECT n FROM item WHERE id = 7 AND no = 1; RESET default_transaction_isolation",
	'BEGIN SELECT', '7');
asks("SET statement_timeout = '10s'; SELECT n FROM item WHERE id = 7 AND no = 1; RESET statement_timeout", 'BEGIN SELECT', '7');
asks('SELECT n FROM item WHERE id = 9 AND no = 1', 'SELECT', '9');

# writes
asks('UPDATE item SET n = n + 1 WHERE id = 20 AND no = 1', 'UPDATE', '');
asks('UPDATE item SET n = n + 1 WHERE id = 21 AND no = 1', 'UPDATE', '');
asks('SELECT n FROM item WHERE id = 21 AND no = 1', 'SELECT', '22');
asks('DELETE FROM item WHERE id = 22 AND no = 1', 'DELETE', '');
asks('BEGIN; UPDATE item SET n = n + 1 WHERE id = 20 AND no = 1; COMMIT', 'BEGIN UPDATE', '');

# RETURNING: the node commits before the row is passed on, which must not fail then
asks('UPDATE item SET n = n + 1 WHERE id = 20 AND no = 1 RETURNING n', 'UPDATE', '23');
asks('UPDATE item SET n = n WHERE id = 20 AND no = 77 RETURNING n', 'UPDATE', '');
asks('DELETE FROM item WHERE id = 22 AND no = 2 RETURNING no', 'DELETE', '2');
asks('BEGIN; UPDATE item SET n = n WHERE id = 20 AND no = 1 RETURNING n; COMMIT', 'BEGIN UPDATE', '23');
asks('UPDATE item SET n = n WHERE id = 20 RETURNING 1', 'BEGIN UPDATE', join("\n", (1) x 5));
asks('SET client_encoding = latin1; UPDATE item SET n = n WHERE id = 20 AND no = 1 RETURNING n; RESET client_encoding',
	'BEGIN UPDATE', '23');
asks('UPDATE item SET n = n WHERE id = 20 AND no = (SELECT 1) RETURNING n', 'UPDATE', '23');
asks('UPDATE item SET n = n WHERE id = 20 AND no = (SELECT item.no) RETURNING 1', 'BEGIN UPDATE', join("\n", (1) x 5));
# a large row is kept in a temporary file
asks(q{UPDATE item SET n = n WHERE id = 20 AND no = 1 RETURNING repeat('x', 3)}, 'UPDATE', 'xxx');
$session->run(q{SET temp_file_limit = '1GB';});
asks(q{UPDATE item SET n = n WHERE id = 20 AND no = 1 RETURNING repeat('x', 3)}, 'BEGIN UPDATE', 'xxx');
asks('UPDATE item SET n = n WHERE id = 20 AND no = 1 RETURNING n, (n / 2.0)::numeric(5, 2)', 'UPDATE', '23|11.50');
$session->run('RESET temp_file_limit;');
my (undef, $fault) = $session->run('UPDATE item SET n = n + 1 WHERE id = 20 AND no = 1 RETURNING 1 / (n - 24);');
like($fault, qr/^ERROR:  22012: division by zero/, 'an error of RETURNING');
asks('SELECT n FROM item WHERE id = 20 AND no = 1', 'SELECT', '23');
my ($out, $error) = $session->run('UPDATE item SET n = n / 0 WHERE id = 20 AND no = 1;');
like($error, qr/^ERROR:  22012: division by zero/, 'an error of a write');
(undef, $error) = $session->run('UPDATE item SET no = 2 WHERE id = 20 AND no = 1;');
like($error, qr/^ERROR:  23505: duplicate key value violates unique constraint "item_pkey"/, 'and of a key');
asks('UPDATE item SET n = n + 1 WHERE id = 20 AND no = 1', 'UPDATE', '');

# a constraint that is checked when the statement's transaction ends
$node->safe_psql('postgres', q{
	CREATE TABLE part (id int, no int, m int, PRIMARY KEY (id, no));
	SELECT shuttle.distribute_table('part', 'id', colocate_with => 'item');
	ALTER TABLE part ADD FOREIGN KEY (id, m) REFERENCES item DEFERRABLE INITIALLY DEFERRED;
	INSERT INTO part SELECT id, no, no FROM item WHERE id = 30;
});
asks('UPDATE part SET m = 4 WHERE id = 30 AND no = 1', 'UPDATE', '');
(undef, $error) = $session->run('UPDATE part SET m = 7 WHERE id = 30 AND no = 1;');
like($error, qr/^ERROR:  23503: insert or update on table "part" violates foreign key constraint "part_id_m_fkey"/, 'a deferred constraint');
($out, $error) = $session->run('UPDATE part SET m = 7 WHERE id = 30 AND no = 1 RETURNING m;');
like($error, qr/^ERROR:  23503: insert or update on table "part" violates foreign key constraint "part_id_m_fkey"/, 'and of RETURNING');
is($out, '', 'without a row');
asks('SELECT m FROM part WHERE id = 30 AND no = 1', 'SELECT', '4');
asks('UPDATE part SET m = 5 WHERE id = 30 AND no = 1', 'UPDATE', '');

# an error leaves nothing behind
($out, my $err) = $session->run('SELECT 1 / (n - n) FROM item WHERE id = 7 AND no = 1;');
like($err, qr/^ERROR:  22012: division by zero/, 'an error of the node');
asks('SELECT n FROM item WHERE id = 7 AND no = 1', 'SELECT', '7');

# more rows than a page: the node is asked again
is(($session->run('SELECT count(*) FROM (SELECT n FROM item WHERE id = 100 OFFSET 0) AS t;'))[0], 100000, 'many rows');
($out, $err) = $session->run('SELECT n FROM item WHERE id = 100;');
is(scalar(split /\n/, $out), 100000, 'many rows, sent on');
# pages that nobody waits for are asked for before its COMMIT
$far->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %' AND state <> 'idle'});
asks('SELECT n FROM item WHERE id = 7 AND no = 1', 'SELECT', '7');

# prepared statements of the extended protocol, whose Sync comes next
my $script = PostgreSQL::Test::Utils::tempdir() . '/keyed.sql';
append_to_file($script, "\\set id random(10, 12)\nSELECT n FROM item WHERE id = :id AND no = 2;\n"
	  . "UPDATE item SET n = n + 1 WHERE id = :id AND no = 3;\nUPDATE item SET n = n + 1 WHERE id = :id AND no = 4 RETURNING n;\n");
my $size = -s $far->logfile;
$node->command_ok(['pgbench', '-n', '-M', 'prepared', '-t', 20, '-f', $script, 'postgres'], 'pgbench, prepared');
my $begins = () = substr(slurp_file($far->logfile), $size) =~ /BEGIN/g;
cmp_ok($begins, '<=', 1, 'only the statement that connects begins a transaction');
is($far->safe_psql('postgres', 'SELECT sum(n) FROM item WHERE id IN (10, 11, 12) AND no IN (3, 4)'), 66 + 40, 'all of them are there');

# in a pipeline whose next statement fails, EXECUTE of a statement is undone
my $pipeline = PostgreSQL::Test::Utils::tempdir() . '/pipeline.sql';
append_to_file($pipeline, "PREPARE raise(int) AS UPDATE item SET n = n + 1 WHERE id = \$1 AND no = 5 RETURNING n;\nEXECUTE raise(26);\n"
	  . "\\startpipeline\nEXECUTE raise(25);\nSELECT 1 / 0;\n\\endpipeline\n");
command_fails(['pgbench', '-n', '-M', 'extended', '-t', 1, '-h', $node->host, '-p', $node->port, '-f', $pipeline, 'postgres'], 'a pipeline that fails');
is($far->safe_psql('postgres', 'SELECT n FROM item WHERE id IN (25, 26) AND no = 5 ORDER BY id'), "25\n27", 'it is undone');

# a table that changes behind a prepared statement
$session->run("SELECT * FROM item WHERE id = $_ AND no = 1;") for 1 .. 4;
$session->run('UPDATE item SET n = n + 1 WHERE id = 23 AND no = 1 RETURNING *;') for 1 .. 4;
$node->safe_psql('postgres', 'ALTER TABLE item ALTER COLUMN n TYPE bigint');
is(join('', $session->run('SELECT * FROM item WHERE id = 7 AND no = 1;')), '7|1|7', 'another type');
is(join('', $session->run('UPDATE item SET n = n + 1 WHERE id = 23 AND no = 1 RETURNING *;')), '23|1|28', 'and of RETURNING');
$node->safe_psql('postgres', 'ALTER TABLE item ADD COLUMN m int DEFAULT 3');
is(join('', $session->run('SELECT * FROM item WHERE id = 7 AND no = 1;')), '7|1|7|3', 'another column');
is(join('', $session->run('UPDATE item SET n = n + 1 WHERE id = 23 AND no = 1 RETURNING *;')), '23|1|29|3', 'and of RETURNING');

# the connection was lost meanwhile
$far->safe_psql('postgres', "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'");
is(join('', $session->run('SELECT n FROM item WHERE id = 7 AND no = 1;')), '7', 'over a new connection');

# a cancel
my $lock = ShuttleSession->new($far, 'postgres');
$lock->run('BEGIN; LOCK TABLE item;');
$session->send('SELECT n FROM item WHERE id = 7 AND no = 1;');
$far->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'pg_shuttle %'});
$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
(undef, $err) = $session->result;
like($err, qr/^ERROR:  57014: canceling statement due to user request\n/, 'a cancel');
$lock->run('ROLLBACK;');
$lock->quit;
is(join('', $session->run('SELECT n FROM item WHERE id = 7 AND no = 1;')), '7', 'and behind it');
is($far->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'}), 0, 'no transaction is open');
unlike(slurp_file($far->logfile), qr/no transaction in progress/, 'none was ended that had not begun');

# it waits for a row, and is cancelled, or not
my $row = ShuttleSession->new($far, 'postgres');
$row->run('BEGIN; UPDATE item SET n = n WHERE id = 20 AND no = 1;');
sub wait_for_row
{
	$session->send('UPDATE item SET n = n + 100 WHERE id = 20 AND no = 1;');
	$far->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'pg_shuttle %'});
	return;
}
wait_for_row();
$node->safe_psql('postgres', "SELECT pg_cancel_backend(@{[ $session->pid ]})");
(undef, $err) = $session->result;
like($err, qr/^ERROR:  57014: canceling statement due to user request\n/, 'a cancel of a write');
wait_for_row();
$row->run('COMMIT;');
is(join('', $session->result), '', 'a write that has waited');
is($far->safe_psql('postgres', 'SELECT n FROM item WHERE id = 20 AND no = 1'), 124, 'it is there once');

# a session that is ended while the node works: the outcome is unknown
$row->run('BEGIN; UPDATE item SET n = n WHERE id = 20 AND no = 1;');
wait_for_row();
$far->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'pg_shuttle %'});
(undef, $err) = $session->result;
like($err, qr/^ERROR:  (?:08006|57P01)/, 'a node that says that it has ended the session has not committed');
$row->run('COMMIT;');
is($far->safe_psql('postgres', 'SELECT n FROM item WHERE id = 20 AND no = 1'), 124, 'nothing of it is there');
$row->quit;
$session->quit;
done_testing();
