# Prefetching for local index scans over tables larger than shared buffers:
# pages are asked for where they are not here, and nothing is where they are.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', q{
shared_buffers = 2MB
session_preload_libraries = 'pg_shuttle'
max_parallel_workers_per_gather = 0
effective_io_concurrency = 16
enable_hashjoin = off
enable_mergejoin = off
enable_memoize = off
autovacuum = off
fsync = off
});
$node->start;
$node->safe_psql('postgres', q{
CREATE EXTENSION pg_shuttle CASCADE;
CREATE TABLE a AS SELECT i AS id, (i * 7919) % 30000 + 1 AS k FROM generate_series(1, 3000) i;
CREATE TABLE big AS SELECT i AS id, repeat('x', 400) AS pad FROM generate_series(1, 30000) i;
ALTER TABLE big ADD PRIMARY KEY (id);
CREATE TABLE small AS SELECT i AS id, i % 7 AS n FROM generate_series(1, 300) i;
ALTER TABLE small ADD PRIMARY KEY (id);
VACUUM ANALYZE;
});

my $join = 'SELECT count(pad) FROM a JOIN big ON big.id = a.k';

# A number of the Look Ahead; undef where there is none in the plan.
sub number
{
	my ($label, $settings, $query, $options) = @_;
	my $plan = $node->safe_psql('postgres',
		"$settings; EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT TEXT) $query");
	return $plan =~ /\Q$label\E: (\d+)/ ? $1 : undef;
}

my $forced = 'SET shuttle.debug_force_batched_join = on';
cmp_ok(number('Prefetched Pages', $forced, $join), '>', 1000, 'pages are asked for');
is(number('Prefetch Pauses', $forced, $join), 0, 'and it goes on');
is(number('Prefetched Pages', 'SET shuttle.enable_local_look_ahead = off', $join),
	undef, 'not where it is off');
is(number('Prefetched Pages', "$forced; SET effective_io_concurrency = 0", $join),
	0, 'nor where no read may be ahead');
is(number('Prefetched Pages', $forced, 'SELECT count(n) FROM a JOIN small ON small.id = a.id'),
	undef, 'nor for a table that is surely cached');

# Left to itself: with the table here it never begins; else it finds out.
my $hot = 'SELECT count(pad) FROM a JOIN big ON big.id = a.k % 20 + 1';
is(number('Batches', 'SET shuttle.batch_size = 256', $hot), 0, 'nothing to do for few pages');
my $found_out = number('Batches', 'SET shuttle.batch_size = 256', $join) +
  number('Prefetch Pauses', 'SET shuttle.batch_size = 256', $join);
cmp_ok($found_out, '>', 0, 'a table that is not here is tried');
is($node->safe_psql('postgres', $join), '3000', 'all rows are found');

# One page at a time is enough to go on.
cmp_ok(number('Prefetched Pages', "$forced; SET effective_io_concurrency = 1", $join),
	'>', 1000, 'one read at a time');

# Tablespaces have a concurrency of their own.
$node->safe_psql('postgres', 'ALTER TABLESPACE pg_default SET (effective_io_concurrency = 0)');
is(number('Prefetched Pages', $forced, $join), 0, 'as the tablespace says');

# A cancelled run leaves nothing behind.
$node->safe_psql('postgres', 'ALTER TABLESPACE pg_default RESET (effective_io_concurrency)');
my ($code, $out, $err) = $node->psql('postgres',
	"$forced; SET statement_timeout = '50ms'; SELECT count(pad), pg_sleep(1) FROM a JOIN big ON big.id = a.k GROUP BY a.id");
like($err, qr/statement timeout/, 'a run can be cancelled');
is($node->safe_psql('postgres', "$forced; $join"), '3000', 'and the next one is right');

$node->stop;
unlike(slurp_file($node->logfile), qr/(TRAP|WARNING|PANIC|leak)/, 'nothing in the log');
done_testing();
