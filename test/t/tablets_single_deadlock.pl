# A statement that is a transaction by itself on its node takes part in a cycle of waits over two nodes: it is found
# though the session's name on the node does not show its transaction.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5\nshuttle.deadlock_timeout = '200ms'");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "max_prepared_transactions = 5\nlog_statement = 'all'");
$far->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
for my $name (qw(one two))
{
	$far->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		SELECT shuttle.use_node('$name');
	});
}
$node->safe_psql('postgres', q{
	CREATE TABLE item (id int, no int, n int, PRIMARY KEY (id, no));
	SELECT shuttle.distribute_table('item', 'id', tablets => 4);
	INSERT INTO item SELECT i, j, 0 FROM generate_series(1, 40) AS i, generate_series(1, 2) AS j;
});
my ($x, $y) = map
{
	$node->safe_psql('postgres', qq{SELECT min(o.id) FROM item AS o JOIN shuttle.tablets AS t ON o.tableoid = t.tablet WHERE node = '$_'})
} qw(one two);

my ($first, $second, $single) = map { ShuttleSession->new($node, 'postgres') } 1 .. 3;
$single->run('UPDATE item SET n = n WHERE id = 40 AND no = 1; UPDATE item SET n = n WHERE id = 39 AND no = 1;') for 1 .. 3;
$single->run("SELECT n FROM item WHERE id IN ($x);") for 1 .. 3;
my $waits = q{SELECT count(*) = %d FROM pg_stat_activity WHERE wait_event_type = 'Lock'};
$first->run("BEGIN; UPDATE item SET n = n + 1 WHERE id = $x AND no = 2;");
$second->run("BEGIN; UPDATE item SET n = n + 1 WHERE id = $y AND no = 1;");
$single->send("UPDATE item SET n = n + 1 WHERE id = $x;");
ok($far->poll_query_until('postgres', sprintf $waits, 1), 'the statement waits');
like($far->safe_psql('postgres', q{SELECT application_name FROM pg_stat_activity WHERE wait_event_type = 'Lock'}), qr/^pg_shuttle [0-9a-f]{16}:\d+$/,
	'without the name of a transaction');
$second->send("UPDATE item SET n = n + 1 WHERE id = $x AND no = 1; COMMIT;");
ok($far->poll_query_until('postgres', sprintf $waits, 2), 'and is waited for');
$first->send("UPDATE item SET n = n + 1 WHERE id = $y AND no = 1; COMMIT;");
my @errors;
my %failed;
for my $session ($first, $second, $single)
{
	my (undef, $err) = $session->result;
	push @errors, $err if $err ne '';
	$failed{ $session->pid } = $err ne '';
}
cmp_ok(scalar @errors, '>=', 1, 'the deadlock ends');
is(scalar(grep { !/^ERROR:  40P01/ } @errors), 0, 'with its SQLSTATE') or diag("@errors");
is(scalar @errors, 1, 'for one of them');
my $expected = 2 * !$failed{ $single->pid } + 2 * !$failed{ $first->pid } + 2 * !$failed{ $second->pid };
is($node->safe_psql('postgres', 'SELECT sum(n) FROM item'), $expected, 'what is there is what has not failed');
$_->quit for ($first, $second, $single);
done_testing();
