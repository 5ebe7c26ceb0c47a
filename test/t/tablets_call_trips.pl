# A call that is the whole transaction takes one round trip, COMMIT included, also if it is a CALL that returns a row
# or a function that opens cursors and returns a set. Calls that come back leave nothing in the node's log, and are
# not sent for ever.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5");
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
	CREATE TABLE item (id int, no int, n int CHECK (n > 0), PRIMARY KEY (id, no));
	SELECT shuttle.distribute_table('item', 'id', tablets => 4);
	INSERT INTO item SELECT i, j, 1 FROM generate_series(1, 40) AS i, generate_series(1, 5) AS j;
	CREATE PROCEDURE pay(i int, INOUT rest int) LANGUAGE plpgsql AS \$\$
	DECLARE c CURSOR FOR SELECT n FROM item WHERE id = i ORDER BY no;
	BEGIN
		OPEN c;
		FETCH c INTO rest;
		CLOSE c;
		UPDATE item SET n = n + 1 WHERE id = i AND no = 1 RETURNING n INTO rest;
	EXCEPTION WHEN serialization_failure THEN
		ROLLBACK;
	END \$\$;
	CREATE PROCEDURE deliver(i int) LANGUAGE plpgsql AS 'BEGIN UPDATE item SET n = n + 1 WHERE id = i; END';
	CREATE PROCEDURE noted(i int, INOUT note text) LANGUAGE plpgsql AS 'BEGIN UPDATE item SET n = n + 1 WHERE id = i; END';
	CREATE FUNCTION status(i int) RETURNS SETOF record LANGUAGE plpgsql AS \$\$
	DECLARE c CURSOR FOR SELECT no, n FROM item WHERE id = i ORDER BY no; r record;
	BEGIN
		OPEN c;
		FETCH c INTO r;
		CLOSE c;
		RETURN NEXT r;
	END \$\$;
	CREATE FUNCTION level(i int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM item WHERE id = i AND n < 100); END';
	CREATE FUNCTION of_other(i int, by int) RETURNS bigint LANGUAGE plpgsql AS
		'DECLARE k int := i + by; BEGIN UPDATE item SET n = 2 WHERE id = i; RETURN (SELECT count(*) FROM item WHERE id = k); END';
	CREATE FUNCTION fails(i int, by int) RETURNS int LANGUAGE plpgsql AS
		'BEGIN UPDATE item SET n = by WHERE id = i; RETURN 1; END';
	SELECT shuttle.distribute_function(oid, 'i', 'item') FROM pg_proc
		WHERE proname IN ('pay', 'deliver', 'noted', 'status', 'level', 'of_other', 'fails')
});
my $on_one = $node->safe_psql('postgres', q{SELECT i FROM generate_series(1, 40) AS i
	WHERE (SELECT node FROM shuttle.tablets AS t JOIN item AS o ON o.tableoid = t.tablet WHERE o.id = i AND o.no = 1) = 'one' LIMIT 1});
my $on_two = $node->safe_psql('postgres', q{SELECT i FROM generate_series(1, 40) AS i
	WHERE (SELECT node FROM shuttle.tablets AS t JOIN item AS o ON o.tableoid = t.tablet WHERE o.id = i AND o.no = 1) = 'two' LIMIT 1});
my $by = $on_two - $on_one;
my $session = ShuttleSession->new($node, 'postgres');

# What is learned of the node, and prepared there, comes first.
sub costs
{
	my ($call, $trips, $answer) = @_;

	$session->run("$call;") for 1 .. 7;
	$proxy->trips($session->pid);
	$proxy->delay_ms(20);
	my ($out, $err) = $session->run("$call;");
	is($proxy->trips($session->pid), $trips, "$call: round trips");
	like("$out$err", $answer, "$call: answer");
	$proxy->delay_ms(0);
	return;
}
costs("CALL deliver($on_one)", 1, qr/^$/);
costs("CALL pay($on_one, NULL)", 1, qr/^\d+$/);
costs("SELECT * FROM status($on_one) AS f(no int, n int)", 1, qr/^1\|\d+$/);
costs("SELECT level($on_one)", 1, qr/^5$/);
costs("CALL noted($on_one, 'note')", 1, qr/^note$/);
# a large row, which is kept in a temporary file, may be an error
$session->run(q{SET temp_file_limit = '1GB';});
costs("CALL noted($on_one, 'note')", 2, qr/^note$/);
costs("CALL pay($on_one, NULL)", 1, qr/^\d+$/);
$session->run('RESET temp_file_limit;');
is(($session->run("BEGIN; CALL pay($on_one, NULL); ROLLBACK; SELECT n > 1 FROM item WHERE id = $on_one AND no = 1;"))[1], '', 'a call in a block');
is($node->safe_psql('postgres', 'SELECT sum(calls_returned) FROM shuttle.node_stats'), 0, 'no call has come back');

# Another node's rows are needed, which only the body knows: the answer is right, and nobody reads of it in the log.
my $size = -s $far->logfile;
my $returned = 'SELECT sum(calls_returned) FROM shuttle.node_stats';
is(($session->run("SELECT of_other($on_one, $by);"))[0], 5, 'a call that comes back');
is($node->safe_psql('postgres', $returned), 1, 'it was sent');
is(($session->run("SELECT fails($on_one, -$_);"))[1] =~ /23514/ ? 1 : 0, 1, 'an error of the call') for 1 .. 2;
is(($session->run("BEGIN; SELECT of_other($on_one, $by); COMMIT; SHOW log_min_messages;"))[1], '', 'and in a block');
my $log = substr(slurp_file($far->logfile), $size);
unlike($log, qr/P0004|trap|STATEMENT: .*(of_other|fails)\(/, 'nothing of it is in the log of the node');
like($log, qr/ERROR: .*item_n_check/, 'but what fails in the end is');

$session->run("SELECT of_other($on_one, $by);") for 1 .. 60;
my $sent = $node->safe_psql('postgres', $returned);
cmp_ok($sent, '<', 20, "60 calls that come back are not all sent: $sent");
cmp_ok($sent, '>', 5, 'but some are');
$session->run("SELECT of_other($on_one, 0);") for 1 .. 5;
cmp_ok($node->safe_psql('postgres', $returned) - $sent, '<', 2, 'other arguments are of another kind');
my $calls = $node->safe_psql('postgres', 'SELECT sum(calls) FROM shuttle.node_stats');
$session->run("SELECT of_other($on_one, 0);") for 1 .. 5;
is($node->safe_psql('postgres', 'SELECT sum(calls) FROM shuttle.node_stats') - $calls, 5, 'they are sent');

# A user who may not set what is logged.
$far->safe_psql('postgres', "CREATE ROLE plain LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO plain");
$far->safe_psql('two', 'GRANT ALL ON ALL TABLES IN SCHEMA public TO plain');
$node->safe_psql('postgres', "ALTER USER MAPPING FOR PUBLIC SERVER one OPTIONS (SET user 'plain'); ALTER USER MAPPING FOR PUBLIC SERVER two OPTIONS (SET user 'plain')");
is(($session->run("SELECT level($on_one);"))[0], 5, 'a user with less power');
$session->quit;
done_testing();
