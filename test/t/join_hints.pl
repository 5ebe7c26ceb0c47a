# trap 39: hints hold while a statement is planned, and act on batched joins: on
# those that have paths of their own, and on loops and subqueries of core's.
#
# What a hint of pg_hint_plan does to the planner is done by a stand-in (hints.c),
# which is compiled here, loaded in front of us and behind.  Where pg_hint_plan is
# installed for this server, it is tried as well.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

sub config { my ($out) = run_command([ 'pg_config', "--$_[0]" ]); return $out; }

my $stand_in = abs_path(PostgreSQL::Test::Utils::tempdir()) . '/hints.so';
my $source = dirname(abs_path(__FILE__)) . '/hints.c';
my $compiler = (split ' ', config('cc'))[0];
system($compiler, '-shared', '-fPIC', '-O1', '-w', '-I' . config('includedir-server'), $source, '-o', $stand_in);
plan skip_all => "\"$compiler\" does not compile a module for this server" if $? != 0;

my @orders = ([ 'stand-in behind us' => "pg_shuttle,$stand_in" ], [ 'stand-in in front of us' => "$stand_in,pg_shuttle" ]);
my $hint_plan = config('pkglibdir') . '/pg_hint_plan.so';
if (-e $hint_plan)
{
	push @orders, [ 'pg_hint_plan behind us' => 'pg_shuttle,pg_hint_plan' ], [ 'pg_hint_plan in front of us' => 'pg_hint_plan,pg_shuttle' ];
}
else
{
	note("pg_hint_plan is not installed for this server ($hint_plan)");
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE TABLE a AS SELECT i AS id, i AS k FROM generate_series(1, 2000) i;
	CREATE INDEX ON a (id);
	CREATE TABLE b AS SELECT i AS id, i % 10 AS v FROM generate_series(1, 3000) i;
	CREATE UNIQUE INDEX ON b (id);
	CREATE TABLE c AS SELECT i AS id, i % 7 AS n FROM generate_series(1, 3000) i;
	CREATE UNIQUE INDEX ON c (id);
	CREATE SERVER guest FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE SERVER engine FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER guest OPTIONS (user '$user');
	CREATE USER MAPPING FOR CURRENT_USER SERVER engine OPTIONS (user '$user');
	CREATE SCHEMA guest;
	CREATE SCHEMA engine;
	CREATE FOREIGN TABLE guest.fb (id int, v int) SERVER guest OPTIONS (schema_name 'public', table_name 'b');
	CREATE FOREIGN TABLE engine.fb (id int, v int) SERVER engine OPTIONS (schema_name 'public', table_name 'b');
	CREATE FOREIGN TABLE guest.fc (id int, n int) SERVER guest OPTIONS (schema_name 'public', table_name 'c');
	CREATE FOREIGN TABLE engine.fc (id int, n int) SERVER engine OPTIONS (schema_name 'public', table_name 'c');
	CREATE SERVER engine2 FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER engine2 OPTIONS (user '$user');
	CREATE TABLE d AS SELECT i AS id, i % 10 AS v FROM generate_series(10001, 13000) i;
	CREATE TABLE parted (id int, v int) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE part1 PARTITION OF parted FOR VALUES FROM (0) TO (10000) SERVER engine OPTIONS (table_name 'b');
	CREATE FOREIGN TABLE part2 PARTITION OF parted FOR VALUES FROM (10000) TO (20000) SERVER engine2 OPTIONS (table_name 'd');
	ANALYZE part1; ANALYZE part2; ANALYZE parted;
	ANALYZE a; ANALYZE guest.fb; ANALYZE engine.fb; ANALYZE guest.fc; ANALYZE engine.fc;
});

my $libraries;
my $transport;

# What Look Ahead says of itself in the plan of a statement with a hint.
sub look
{
	my ($hint, $query) = @_;
	my $plan = $node->safe_psql('postgres', qq{
		SET search_path = $transport, public;
		PREPARE q AS /*+ $hint */ $query;
		SET plan_cache_mode = force_generic_plan;
		EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE q;
	}, extra_params => [], connstr => $node->connstr('postgres') . " options='-c session_preload_libraries=$libraries'");
	return $plan;
}

sub batches
{
	my ($hint, $query) = @_;
	my $plan = look($hint, $query);
	my @found = $plan =~ /^\s*Batches: (\d+)$/mg;
	return @found == 0 ? (($plan =~ /(Hash|Merge) .*Join/) ? lc($1) : 'plain') : join(' ', @found);
}

my $join = 'SELECT count(fb.v) FROM a JOIN fb ON fb.id = a.k';
my $lateral = 'SELECT count(s.v) FROM a, LATERAL (SELECT v FROM fb WHERE fb.id = a.k LIMIT 1) s';
my $subplan = 'SELECT sum((SELECT count(*) FROM fb WHERE fb.id = a.k)) FROM a';
my $chain = 'SELECT count(fc.n) FROM a JOIN fb ON fb.id = a.k JOIN fc ON fc.id = fb.v';
# as pg_hint_plan has the planner make the join of two relations
my $nested_loop = 'Set(enable_hashjoin off) Set(enable_mergejoin off)';

foreach my $order (@orders)
{
	my $name;
	($name, $libraries) = @$order;
	foreach (qw(guest engine))
	{
		$transport = $_;
		my $label = "$name, $transport";
		is(batches('Set(shuttle.batch_size 500) Set(shuttle.debug_force_batched_join on)', $join), '4', "$label: batch size of a join");
		is(batches('Set(shuttle.batch_size 500)', $lateral), '4', "$label: of LATERAL");
		is(batches('Set(shuttle.batch_size 500)', $subplan), '4', "$label: of a subquery");
		is(batches('', $lateral), '2', "$label: the default");
		is(batches("$nested_loop Set(shuttle.enable_batched_join off)", $join), 'plain', "$label: forbidden for a join");
		is(batches('Set(shuttle.enable_batched_join off)', $lateral), 'plain', "$label: for LATERAL");
		is(batches('Set(shuttle.enable_batched_join off)', $subplan), 'plain', "$label: for a subquery");
		is(batches('Set(enable_nestloop off)', $join), 'hash', "$label: no nested loop");
		is(batches("$nested_loop Set(enable_material off)", $join), '2', "$label: forced");
		is(batches("$nested_loop Set(enable_material off) Set(join_collapse_limit 1)", $chain), '2 2', "$label: a chain");
		next unless $name =~ /pg_hint_plan/;
		is(batches('NestLoop(a fb) Leading((a fb))', $join), '2', "$label: NestLoop");
		is(batches('HashJoin(a fb)', $join), 'hash', "$label: HashJoin");
		is(batches('MergeJoin(a fb)', $join), 'merge', "$label: MergeJoin");
		isnt(batches('NoNestLoop(a fb)', $join), '2', "$label: NoNestLoop");
		is(batches('NestLoop(a fb) NestLoop(a fb fc) Leading(((a fb) fc))', $chain), '2 2', "$label: NestLoop of three");
	}
}

# Who calls the planner may have no text to give.
is( $node->safe_psql('postgres', 'SELECT /*+ NoText */ v FROM engine.fb WHERE id = 3', extra_params => [],
		connstr => $node->connstr('postgres') . " options='-c session_preload_libraries=pg_shuttle,$stand_in'"),
	'3', 'a statement without its text');

# An error while a statement is planned must not let us change what core plans alone
# afterwards: its finished plan does not come by us.
my $collect = 'SELECT json_array_length(json_agg(v)) FROM parted';
my ($status, $answers, $errors) = $node->psql('postgres', qq{
	EXPLAIN (COSTS OFF, VERBOSE) $collect;
	SELECT 1 / 0 FROM parted;
	/*+ Core */ $collect;
}, on_error_stop => 0, connstr => $node->connstr('postgres') . " options='-c session_preload_libraries=pg_shuttle,$stand_in'");
like($answers, qr/PARTIAL json_agg/, 'nodes collect where our hook plans');
like($errors, qr/division by zero$/, 'planning raises an error, and nothing else does');
like($answers, qr/^6000$/m, 'what core plans alone has its answer');
$node->stop;
done_testing();
