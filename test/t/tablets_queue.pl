# A queue in a distributed table: workers take jobs with FOR UPDATE SKIP LOCKED LIMIT n. Each job is taken once, no
# worker finds none while one is free, each gets its jobs in the order of priority, and taking some is a request for
# rows and one for locks.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleTrips;

my $trips = ShuttleTrips->new;
my $query = $trips->query;
$query->safe_psql('postgres', q{
	CREATE TABLE job (id int PRIMARY KEY, prio int NOT NULL, state text NOT NULL);
	CREATE TABLE taken (n serial PRIMARY KEY, worker int, id int, prio int);
	SELECT shuttle.distribute_table('job', 'id', tablets => 12);
	CREATE INDEX ON job (prio, id) WHERE state = 'new';
});

# Fills the queue, lets four workers empty it, and looks at what they took.
sub run_workers
{
	my ($limit) = @_;
	my $script = PostgreSQL::Test::Utils::tempdir . "/take$limit.sql";
	my $ntimes = 1000 / $limit / 4;

	$query->safe_psql('postgres', q{
		TRUNCATE job; TRUNCATE taken;
		INSERT INTO job SELECT i, i * 37 % 5, 'new' FROM generate_series(1, 1000) AS i;
		ANALYZE job;
	});
	append_to_file($script, qq{
		WITH j AS (UPDATE job SET state = 'done' WHERE id IN
			(SELECT id FROM job WHERE state = 'new' ORDER BY prio, id LIMIT $limit FOR UPDATE SKIP LOCKED) RETURNING id, prio)
		INSERT INTO taken (worker, id, prio) SELECT :client_id, id, prio FROM j ORDER BY prio, id;
	});
	$query->command_ok([ 'pgbench', '-n', '-c', 4, '-t', $ntimes, '-f', $script, $query->connstr('postgres') ],
		"limit $limit: four workers");
	is($query->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM taken'), '1000|1000', "limit $limit: each job once");
	is($query->safe_psql('postgres', q{SELECT count(*) FROM job WHERE state = 'new'}), '0', "limit $limit: no job is left");
	is($query->safe_psql('postgres', q{
		SELECT count(*) FROM (SELECT (prio, id) > lag((prio, id)) OVER (PARTITION BY worker ORDER BY n) AS in_order FROM taken) AS t
		WHERE NOT in_order}), '0', "limit $limit: in the order of priority");
	return;
}
run_workers($_) for 1, 5;

# What others can still lock is all but what is returned.
$query->safe_psql('postgres', q{UPDATE job SET state = 'new'});
my $session = $trips->session;
$session->run('BEGIN; SELECT id FROM job ORDER BY prio, id LIMIT 2 FOR UPDATE SKIP LOCKED;');
is($query->safe_psql('postgres', 'SELECT count(*) FROM (SELECT id FROM job FOR UPDATE SKIP LOCKED) AS free'), '998',
	'no other row is locked');
$session->run('ROLLBACK;');

my $take = q{SELECT id FROM job WHERE state = 'new' ORDER BY prio, id LIMIT %d FOR UPDATE SKIP LOCKED};
$session->run(sprintf($take, $_) . ';') for 1 .. 8;
# the last one is COMMIT
$trips->most('taking one', 3, (sprintf($take, 1)) x 4);
$trips->most('taking ten', 3, (sprintf($take, 10)) x 4);
$trips->most('taking ten by a CTE', 3, ('WITH j AS (' . sprintf($take, 10) . ') SELECT sum(id) FROM j') x 4);

done_testing();
