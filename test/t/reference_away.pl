# A node that is away makes a write to a reference table fail; its copies are the
# same as ours when it is back, and those of a dump as well.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleSession;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5");
$node->start;
my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$far->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', 'CREATE DATABASE near');
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER near FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $node->host ]}', port '@{[ $node->port ]}', dbname 'near');
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname 'postgres');
	CREATE USER MAPPING FOR PUBLIC SERVER near OPTIONS (user '$user');
	CREATE USER MAPPING FOR PUBLIC SERVER far OPTIONS (user '$user');
	SELECT shuttle.use_node('near'), shuttle.use_node('far');
	CREATE TABLE kind (id int PRIMARY KEY, name text);
	INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(1, 100) AS i;
	SELECT shuttle.reference_table('kind');
});
my $sum = 'SELECT count(*), sum(id), max(name) FROM kind';
my $first = $node->safe_psql('postgres', $sum);

sub same_everywhere
{
	my ($expected, $when) = @_;

	is($node->safe_psql('postgres', $sum), $expected, "here $when");
	is($node->safe_psql('near', $sum), $expected, "near $when");
	is($far->safe_psql('postgres', $sum), $expected, "far $when");
	is($node->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', "check $when");
	return;
}

# away before the statement
$far->stop;
for my $statement ("INSERT INTO kind VALUES (101, 'x')", 'UPDATE kind SET name = id', 'DELETE FROM kind', 'TRUNCATE kind')
{
	my ($code, undef, $error) = $node->psql('postgres', $statement);

	isnt($code, 0, "$statement fails");
	like($error, qr/far/, "$statement names the node");
}
is($node->safe_psql('postgres', $sum), $first, 'reads go on');

# the others are checked all the same; to repair takes all nodes
$node->safe_psql('near', 'UPDATE kind SET name = NULL WHERE id = 7');
is($node->safe_psql('postgres', 'SELECT relation::oid, node, problem FROM shuttle.check() ORDER BY node'),
	"0|far|cannot be reached, and was not checked\n"
	  . $node->safe_psql('postgres', q{SELECT 'kind'::regclass::oid}) . '|near|has other rows', 'a check without a node');
my ($code, undef, $error) = $node->psql('postgres', 'SELECT * FROM shuttle.check(repair => true)');
isnt($code, 0, 'a repair without a node fails');
like($error, qr/far/, 'and names the node');
$far->start;
is($node->safe_psql('postgres', 'SELECT node, repaired FROM shuttle.check(repair => true)'), 'near|t', 'and works when it is back');
same_everywhere($first, 'when the node is back');

# away between statement and commit
my $session = ShuttleSession->new($node, 'postgres');
$session->run('BEGIN;');
$session->run("UPDATE kind SET name = 'lost';");
$far->stop('immediate');
my (undef, $error) = $session->run('COMMIT;');
like($error, qr/far/, 'the commit fails');
$far->start;
same_everywhere($first, 'after a commit that failed');

# a dump restored to the same nodes goes on with their copies
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $file = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $file, '-d', $node->connstr('postgres') ], 'dump');
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $file, '-d', $node->connstr('restored') ], 'restore');
is($node->safe_psql('restored', 'SELECT * FROM shuttle.check()'), '', 'copies are as the restored table');
$node->safe_psql('restored', "INSERT INTO kind VALUES (102, 'y')");
is($node->safe_psql('restored', 'SELECT * FROM shuttle.check()'), '', 'and follow it');

done_testing();
