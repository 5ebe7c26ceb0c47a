# A scan that was sent early, and is not needed, leaves a cursor on its node. ALTER TABLE and TRUNCATE, which PostgreSQL
# refuses for a table that a cursor reads, wait for the answer and close it.
use strict;
use warnings;

use Test::More;

use ShuttleTrips;

my $trips = ShuttleTrips->new;
my $slow = $trips->{proxies}[1];

# Few rows are expected of each tablet, so that two are asked for twelve rows; the first has them.
$trips->query->safe_psql('postgres', q{
	CREATE TABLE part (id int PRIMARY KEY, v int);
	SELECT shuttle.distribute_table('part', 'id', tablets => 2);
	INSERT INTO part SELECT i, i FROM generate_series(1, 20) AS i;
	ANALYZE part;
	INSERT INTO part SELECT i, i FROM generate_series(21, 2000) AS i;
});
$trips->session->run('SET shuttle.fetch_limit = 5;');
for my $statement ('ALTER TABLE part ALTER v TYPE bigint', 'ALTER TABLE part ADD w int', 'TRUNCATE part')
{
	$trips->session->run('BEGIN; UPDATE part SET v = 0 WHERE id < 10;');
	$slow->delay_ms(500);
	my ($rows) = $trips->session->run('SELECT count(*) FROM (SELECT * FROM part LIMIT 12) AS p;');
	my (undef, $error) = $trips->session->run("$statement;");
	$slow->delay_ms(0);
	is("$rows$error", '12', $statement);
	$trips->session->run('COMMIT;');
}
done_testing;
