# A dump made after shuttle.adopt_server(), and one made after
# shuttle.release_server(), restore to a set-up that works.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'");
$node->start;

my ($host, $port) = ($node->host, $node->port);
my $user = $node->safe_psql('postgres', 'SELECT current_user');

# The server leads to a database of its own, so that all databases that are
# restored can reach the same rows.
$node->safe_psql('postgres', 'CREATE DATABASE far_away');
$node->safe_psql('postgres', 'CREATE DATABASE made');
$node->safe_psql('far_away', q{
	CREATE TABLE remote (id int PRIMARY KEY, v text);
	INSERT INTO remote SELECT i, 'v' || i FROM generate_series(1, 10) i;
});
$node->safe_psql('made', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'far_away', use_remote_estimate 'true', fetch_size '7');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE FOREIGN TABLE ft (id int, w text OPTIONS (column_name 'v'))
		SERVER far OPTIONS (table_name 'remote', use_remote_estimate 'false');
	CREATE VIEW over AS SELECT id, w FROM ft WHERE id > 8;
});

sub wrapper
{
	my $database = shift;
	return $node->safe_psql($database,
		'SELECT fdwname FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw');
}

# Options in a form that does not depend on this run.
sub options
{
	my $database = shift;
	return $node->safe_psql($database, q{
		SELECT string_agg(o, ',' ORDER BY o) FROM (
			SELECT unnest(srvoptions) AS o FROM pg_foreign_server UNION ALL
			SELECT unnest(ftoptions) FROM pg_foreign_table UNION ALL
			SELECT unnest(attfdwoptions) FROM pg_attribute
			WHERE attrelid = 'ft'::regclass AND attfdwoptions IS NOT NULL) x
		WHERE o !~ '^(host|port|dbname)='});
}

sub restored
{
	my ($source, $target) = @_;
	my $file = $node->basedir . "/$target.sql";
	$node->command_ok([ 'pg_dump', '-f', $file, $source ], "dump for $target");
	$node->safe_psql('postgres', "CREATE DATABASE $target");
	$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', $file, $target ],
		"restore of $target");
	is(wrapper($target), wrapper($source), "wrapper in $target");
	is(options($target), options($source), "options in $target");
}

sub works
{
	my $database = shift;
	is($node->safe_psql($database, 'SELECT * FROM over ORDER BY id'),
		"9|v9\n10|v10", "read in $database");
	is( $node->safe_psql($database, q{
			BEGIN;
			UPDATE ft SET w = 'new' WHERE id = 9;
			SELECT w FROM over WHERE id = 9;
			ROLLBACK;}),
		'new', "own write seen in $database");
}

works('made');
$node->safe_psql('made', q{SELECT * FROM shuttle.adopt_server('far')});
$node->safe_psql('made', q{ALTER SERVER far OPTIONS (shuttle_batch_size '7');
	ALTER FOREIGN TABLE ft OPTIONS (shuttle_fetch_limit '5')});
is(wrapper('made'), 'shuttle', 'adopted');
works('made');
restored('made', 'after_adopt');
works('after_adopt');
is(options('after_adopt'),
	'column_name=v,fetch_size=7,shuttle_batch_size=7,shuttle_fetch_limit=5,'
	  . 'shuttle_remote_estimate=false,shuttle_remote_estimate=true,table_name=remote',
	'our options in the dump');

# A restored database is like one that was made: it can be released.
$node->safe_psql('after_adopt', q{SELECT * FROM shuttle.release_server('far')});
is(wrapper('after_adopt'), 'postgres_fdw', 'released after a restore');
works('after_adopt');

$node->safe_psql('made', q{SELECT * FROM shuttle.release_server('far')});
works('made');
restored('made', 'after_release');
works('after_release');
is(options('after_release'),
	'column_name=v,fetch_size=7,table_name=remote,use_remote_estimate=false,use_remote_estimate=true',
	'no option of ours in the dump');

# Nothing of the server belongs to the extension after a release.
$node->safe_psql('after_release', 'DROP EXTENSION pg_shuttle');
works('after_release');

# Rows are dumped by a role that has a user mapping: the one that connects, or that of --role.
$node->safe_psql('after_adopt', qq{
	SELECT * FROM shuttle.adopt_server('far');
	CREATE ROLE dumper SUPERUSER LOGIN;
	CREATE ROLE app;
	CREATE USER MAPPING FOR app SERVER far OPTIONS (user '$user', password_required 'false');
	GRANT USAGE ON FOREIGN SERVER far TO app;
	GRANT SELECT ON ft, over TO app;});
my @rows = ('pg_dump', '--data-only', '--include-foreign-data=*', '-t', 'ft', '-U', 'dumper');
$node->command_fails_like([ @rows, 'after_adopt' ], qr/user mapping not found for .*dumper/,
	'rows are not dumped without a user mapping');
$node->command_like([ @rows, '--role=app', 'after_adopt' ], qr/^10\tv10$/m, 'but with --role');

# So is a whole dump, but it lacks what only superusers see of other roles' mappings (docs/upgrades.md).
my @whole = ('pg_dump', '--include-foreign-data=*', '-U', 'dumper', '--role=app', 'after_adopt');
$node->command_like(\@whole, qr/FOR app SERVER far OPTIONS.*^10\tv10$/ms, 'a whole dump with --role');
$node->command_like(\@whole, qr/FOR $user SERVER far;$/m, 'has no options of mappings of others');

$node->stop;
done_testing();
