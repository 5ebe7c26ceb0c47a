# Reads of a distributed table wait for nodes once: a row by its key for one of them, count(*) over
# all tablets for all nodes at the same time.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleProxy;
use ShuttleSession;

my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5");
$query->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$far->start;
my $user = $query->safe_psql('postgres', 'SELECT current_user');

$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
my @proxies;
for my $name (qw(n1 n2 n3))
{
	my $proxy = ShuttleProxy->new($far);

	push @proxies, $proxy;
	$far->safe_psql('postgres', "CREATE DATABASE $name");
	$query->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '@{[ $proxy->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		SELECT shuttle.use_node('$name');
	});
}
$query->safe_psql('postgres', q{
	CREATE TABLE item (id int PRIMARY KEY, n int);
	INSERT INTO item SELECT i, i % 7 FROM generate_series(1, 1000) AS i;
	SELECT shuttle.distribute_table('item', 'id', tablets => 12);
	ANALYZE item;
});
is($query->safe_psql('postgres', q{SELECT count(*), count(DISTINCT node) FROM shuttle.tablets}), '12|3', '12 tablets on 3 nodes');
my $session = ShuttleSession->new($query, 'postgres');
$session->run('SELECT count(*) FROM item;');

# Round trips of the session to each node.
sub trips
{
	return join ' ', map { $_->trips($session->pid) } @proxies;
}

# Waits for the COMMIT before, for which no session has waited: it must neither count nor be held.
sub wait_for_commits
{
	$far->poll_query_until('postgres', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname IN ('n1', 'n2', 'n3') AND state <> 'idle')})
		or die 'a node does not end its transaction';
	usleep(20_000);
	return;
}

# A transaction is open, so that no COMMIT counts, for which nobody waits.
sub costs
{
	my ($trips, $query_text, $expected) = @_;

	wait_for_commits();
	$session->run('BEGIN;');
	trips();
	$_->delay_ms(20) for @proxies;		# no answer comes before all is sent
	my ($out, $err) = $session->run("$query_text;");
	is(join(' ', sort split / /, trips()), $trips, "$query_text: round trips");
	is("$out$err", $expected, "$query_text: answer");
	$_->delay_ms(0) for @proxies;
	$session->run('COMMIT;');
	return;
}
$session->run('PREPARE get(int) AS SELECT n FROM item WHERE id = $1;');
costs('0 0 1', "SELECT n FROM item WHERE id = $_", $_ % 7) for 1 .. 6;
costs('0 0 1', "EXECUTE get($_)", $_ % 7) for 1 .. 6;
my @whole = ('SELECT count(*) FROM item', 'SELECT n, count(*) FROM item GROUP BY n ORDER BY n');
costs('1 1 1', $_, $query->safe_psql('postgres', $_)) for @whole;

# UPDATEs of one node in a function are sent together, unless one is looked at. The function is called
# as often as it takes for its statements to have kept plans.
$session->run(q{
	SET plan_cache_mode = force_generic_plan;
	CREATE FUNCTION two(id_changed int) RETURNS int LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE item SET n = n WHERE id = id_changed;
		UPDATE item SET n = n WHERE id = id_changed;
		RETURN 1;
	END $$;
	CREATE FUNCTION two_found(id_changed int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN
		UPDATE item SET n = n WHERE id = id_changed;
		UPDATE item SET n = n WHERE id = id_changed;
		RETURN FOUND;
	END $$;
	SELECT two(9), two_found(9);
	SELECT two(9), two_found(9);
});
costs('0 0 1', 'SELECT two(9)', 1);
costs('0 0 2', 'SELECT two_found(9)', 't');
$session->run('SET shuttle.enable_write_behind = off;');
costs('0 0 2', 'SELECT two(9)', 1);
$session->run('RESET ALL;');

# No node answers before all of them are asked. A new session sends texts, not names of statements.
for my $query_text (@whole)
{
	$session = ShuttleSession->new($query, 'postgres');
	$session->run('SELECT max(n) FROM item;');
	$_->hold('count') for @proxies;
	$session->send("$query_text;");
	is(scalar(grep { $_->is_held } @proxies), 3, "$query_text: all nodes are asked at once");
	$_->hold('nothing') for @proxies;
	$_->thaw for @proxies;
	my ($found, $error) = $session->result;
	is("$found$error", $query->safe_psql('postgres', $query_text), "$query_text: answer");
}

# An answer does not wait for the COMMIT behind it.
for my $query_text ('SELECT n FROM item WHERE id = 9', @whole)
{
	my $expected = $query->safe_psql('postgres', $query_text);
	wait_for_commits();
	$_->hold('^COMMIT') for @proxies;
	my ($found, $error) = $session->run("$query_text;");
	is("$found$error", $expected, "$query_text: no wait for COMMIT");
	$_->hold('nothing') for @proxies;
	$_->thaw for @proxies;
}
done_testing();
