# How often nodes are asked for row counts of tables without statistics, and what happens
# if they cannot be asked.
use strict;
use warnings FATAL => 'all';

use Time::HiRes qw(time usleep);

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE big AS SELECT i AS id, i % 100 AS k FROM generate_series(1, 20000) i;
	CREATE TABLE small AS SELECT i AS id, i AS k FROM generate_series(1, 30) i;
	CREATE TABLE other AS SELECT i AS id, i AS k FROM generate_series(1, 40) i;
	ANALYZE;
}, options => "sslmode 'disable', gssencmode 'disable'", conf => "autovacuum = off\nmax_connections = 40");
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	CREATE SERVER near FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $node->host ]}', port '@{[ $node->port ]}', dbname 'far');
	CREATE USER MAPPING FOR CURRENT_USER SERVER near OPTIONS (user '$user');
	CREATE FOREIGN TABLE beside (id int, k int) SERVER near OPTIONS (table_name 'other');
	CREATE FOREIGN TABLE known (id int, k int) SERVER far OPTIONS (table_name 'big');
	ANALYZE known;
	CREATE TABLE here AS SELECT i AS id FROM generate_series(1, 10) i;
	ANALYZE here;
});

# What a session asks for a statement, as "server tables", and the rows of its scans.
sub asked
{
	my ($session, $sql) = @_;
	my ($out, $err) = $session->run("SET client_min_messages = debug1; EXPLAIN $sql; RESET client_min_messages;");
	my @asked = map { "$_->[0] $_->[1]" } sort { $a->[0] cmp $b->[0] }
		map { [ /storage node "(\w+)" is asked for the rows of (\d+) tables/ ] } grep { /is asked for the rows/ } split /\n/, $err;
	my @rows = map { s/.*Foreign Scan on (\w+).*rows=(\d+).*/$1 $2/sr } grep { /Foreign Scan on/ } split /\n/, $out;
	return join('; ', @asked) . ' -> ' . join(', ', sort @rows);
}

my $session = ShuttleSession->new($node, 'postgres');
is(asked($session, 'SELECT FROM here'), ' -> ', 'nothing for tables here');
is(asked($session, 'SELECT FROM known JOIN here USING (id) WHERE random() < 2'), ' -> known 1', 'nor for a table with statistics');
like(asked($session, 'SELECT FROM big'), qr/^ -> big/, 'nor for one table alone');
my $cross = 'SELECT FROM big JOIN beside ON big.id + random() > beside.id WHERE EXISTS (SELECT FROM small, here WHERE small.id + here.id > big.k OFFSET 0)';
is(asked($session, $cross), 'far 2; near 1 -> beside 40, big 10000, small 10', 'each node once for all tables of a statement');
is(asked($session, $cross), ' -> beside 40, big 10000, small 10', 'and not again');
is(asked($session, 'SELECT FROM other, beside WHERE other.id + beside.id > random()'), 'far 1 -> beside 40, other 40', 'but for another table');
$session->run('ALTER FOREIGN TABLE beside OPTIONS (ADD schema_name \'public\');');
like(asked($session, $cross), qr/far 2; near 1 ->/, 'and when a foreign table has changed');
$session->run('SET shuttle.enable_row_counts = off;');
unlike(asked($session, 'SELECT FROM other, here'), qr/asked|other 40$/, 'not if that is turned off');
$session->quit;

# One trip more, on the connection that the session needs anyway.
sub trips
{
	my ($sql) = @_;
	my ($least, $connections);
	for (1 .. 3)
	{
		my $session = ShuttleSession->new($node, 'postgres');
		$proxy->trips;
		$proxy->connections;
		my ($out, $err) = $session->run($sql);
		is($err, '', 'no error');
		usleep(60_000);
		my $trips = $proxy->trips;
		($least, $connections) = ($trips, $proxy->connections) if !defined $least || $trips < $least;
		$session->quit;
		usleep(60_000);
	}
	return "$least trips, $connections connections";
}
$proxy->delay_ms(20);
my $join = 'SELECT count(*) FROM here JOIN big USING (id);';
my ($without) = trips("SET shuttle.enable_row_counts = off; $join") =~ /^(\d+) trips, 1 connections/;
is(trips($join), sprintf('%d trips, 1 connections', $without + 1), 'one trip and no connection more');
$proxy->delay_ms(0);

# A node that does not answer.
$session = ShuttleSession->new($node, 'postgres');
$proxy->refuse(1);
my $explain = 'SELECT FROM here, big WHERE here.id + big.id > random()';
like(asked($session, $explain), qr/^far 1 -> big \d{3,4}$/, 'a node that is down: planned by the default size');
like(asked($session, $explain), qr/^ -> big \d{3,4}$/, 'and not asked again at once');
$proxy->refuse(0);
$session->quit;

$session = ShuttleSession->new($node, 'postgres');
$proxy->freeze;
my $start = time;
like(asked($session, $explain), qr/^far 1 -> big \d{3,4}$/, 'a node that says nothing');
my $took = time - $start;
cmp_ok($took, '<', 8, 'is not waited for long');
$start = time;
like(asked($session, $explain), qr/^ -> big \d{3,4}$/, 'and not by the next statement');
cmp_ok(time - $start, '<', 1, 'which is planned at once');
$session->quit;

$session = ShuttleSession->new($node, 'postgres');
my ($out, $err) = $session->run("SET statement_timeout = '200ms'; EXPLAIN $explain;");
like($err, qr/canceling statement due to statement timeout/, 'the wait can be cancelled');
like(asked($session, $explain), qr/^ -> big \d{3,4}$/, 'and the next statement does not wait');
$proxy->thaw;
$session->quit;

# Locks on the node are not waited for.
my $locker = ShuttleSession->new($node, 'far');
$locker->run('BEGIN; LOCK TABLE small IN ACCESS EXCLUSIVE MODE;');
$session = ShuttleSession->new($node, 'postgres');
$start = time;
is(asked($session, 'SELECT FROM small, here WHERE small.id + here.id > random()'), 'far 1 -> small 30', 'a locked table');
cmp_ok(time - $start, '<', 1.5, 'is not waited for');
$locker->run('ROLLBACK;');
$locker->quit;
$session->quit;

# A role that may not connect there, and one that may read nothing.
$node->safe_psql('postgres', qq{
	CREATE ROLE counts_stranger LOGIN;
	CREATE ROLE counts_reader LOGIN;
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO counts_stranger, counts_reader;
	CREATE USER MAPPING FOR counts_reader SERVER far OPTIONS (user 'counts_reader', password_required 'false');
});
$session = ShuttleSession->new($node, 'postgres');
$session->run('SET ROLE counts_stranger;');
like(asked($session, $explain), qr/^far 1 -> big \d{3,4}$/, 'a user without a mapping');
like(asked($session, $explain), qr/^ -> big \d{3,4}$/, 'is not asked for again');
$session->run('RESET ROLE; SET ROLE counts_reader;');
is(asked($session, $explain), 'far 1 -> big 20000', 'the catalog is open to all');
$session->quit;
$node->stop;
done_testing();
