# The planner knows how far a node is: from this session's answers, from
# another session's where the library is preloaded, over both transports. Slow
# answers change no plan while quick ones are remembered.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;

my $node = PostgreSQL::Test::Cluster->new('node');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\nfsync = off\n");
$node->start;
$node->safe_psql('postgres', q{
CREATE TABLE a AS SELECT i AS id, i AS k FROM generate_series(1, 1000) i;
CREATE TABLE b AS SELECT i AS id, i % 7 AS n FROM generate_series(1, 20000) i;
ALTER TABLE b ADD PRIMARY KEY (id);
VACUUM ANALYZE;
});
my $proxy = ShuttleProxy->new($node);
my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf',
	"shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 0\nautovacuum = off\nfsync = off\n");
$query->start;
$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE SCHEMA guest; CREATE SCHEMA engine');
for my $pair ([ guest => 'postgres_fdw' ], [ engine => 'shuttle' ])
{
	my ($name, $wrapper) = @$pair;
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	$query->safe_psql('postgres', qq{
CREATE SERVER $name FOREIGN DATA WRAPPER $wrapper
	OPTIONS (host '127.0.0.1', port '@{[ $proxy->port ]}', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER $name OPTIONS (user '$user');
IMPORT FOREIGN SCHEMA public FROM SERVER $name INTO $name;
ANALYZE $name.a, $name.b;
CREATE TABLE IF NOT EXISTS here AS SELECT i AS id FROM generate_series(1, 1000) i;
ANALYZE here;
});
}

# How a join is planned in a new session, after it read one row or before.
sub joined
{
	my ($join, $warm) = @_;
	my ($schema) = $join =~ /(guest|engine)\./;
	my $plan = $query->safe_psql('postgres',
		($warm ? "SELECT 1 FROM $schema.b LIMIT 1; " x (20 * $warm) : '') . "EXPLAIN (COSTS OFF) $join");
	return $plan =~ /Look Ahead/ ? 'batched' : $plan =~ /(Hash|Merge) Join/ ? lc($1) : $plan;
}

# Keys that have to come first cost a round trip; pages of a guest cost one each.
my $engine = 'SELECT 1 FROM engine.a JOIN engine.b ON b.id = a.k';
my $guest = 'SELECT 1 FROM here JOIN guest.a b ON b.id = here.id';

$proxy->delay_ms(40);
$query->safe_psql('postgres', 'SELECT shuttle.reset_node_stats()');
is(joined($engine, 1), 'hash', 'engine, far: tables are read side by side');
is(joined($engine, 0), 'hash', 'another session knows');
is(joined($guest, 1), 'batched', 'guest, far: pages take longer than a batch');
is(joined($guest, 0), 'batched', 'another session knows');
$proxy->delay_ms(0);
is(joined($engine, 1), 'batched', 'engine, near');
is(joined($engine, 0), 'batched', 'another session knows that it is near');

# More answers than the smallest window has, which ends after a minute.
$proxy->delay_ms(40);
is(joined($engine, 2), 'batched', 'engine, busy: slow answers change no plan');
$query->safe_psql('postgres', q{SELECT shuttle.reset_node_stats('engine')});
is(joined($engine, 1), 'hash', 'engine, far, after the round trip was forgotten');
done_testing();
