# A node that cannot be asked what it sorts by counts as one that sorts otherwise,
# and is asked again later.  Neither pg_stat_statements nor auto_explain sees that
# anything is asked.
use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleProxy;
use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('node');
$node->init;
$node->start;
$node->safe_psql('postgres', q{CREATE TABLE words AS SELECT i AS id, i::text AS t FROM generate_series(1, 1000) i;
	ANALYZE words;});
my $proxy = ShuttleProxy->new($node);
my $query = PostgreSQL::Test::Cluster->new('query');
$query->init;
$query->append_conf('postgresql.conf', q{
shared_preload_libraries = 'pg_stat_statements, auto_explain, pg_shuttle'
auto_explain.log_min_duration = 0
shuttle.recovery_interval = 0
});
$query->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
$query->safe_psql('postgres', qq{
	CREATE EXTENSION pg_stat_statements;
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle
		OPTIONS (host '127.0.0.1', port '@{[ $proxy->port ]}', dbname 'postgres');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	ANALYZE words;
	SELECT pg_stat_statements_reset();});

my $session = ShuttleSession->new($query, 'postgres');
my $explain = 'EXPLAIN (COSTS OFF) SELECT id FROM words ORDER BY t LIMIT 3;';

sub sorts_here { return ($session->run($explain))[0] =~ /Sort/ ? 'here' : 'there'; }

$proxy->refuse(1);
is(sorts_here(), 'here', 'nobody answers');
$proxy->refuse(0);
is(sorts_here(), 'here', 'nobody asks again at once');
for my $i (1 .. 60)
{
	last if sorts_here() eq 'there';
	$session->run('SELECT pg_sleep(0.5);');
}
is(sorts_here(), 'there', 'but later');
$proxy->refuse(1);
is(sorts_here(), 'there', 'what was answered is known');
$proxy->refuse(0);

is(($session->run("SELECT query FROM pg_stat_statements WHERE query LIKE '%pg_database%' OR query LIKE '%collat%';"))[0],
	'', 'no statement is counted');
unlike(slurp_file($query->logfile), qr/Query Text:[^\n]*collation_actual_version/, 'nor explained');

$session->quit;
$query->stop;
$node->stop;
done_testing();
