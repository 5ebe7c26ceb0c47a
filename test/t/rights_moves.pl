# A move sends what users wrote for a table to the new node, also if the table has tablets there already: its remote
# user may have become one with whose rights that must not run.
use strict;
use warnings;

use Test::More;

use ShuttleCommit;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });

for my $i (1, 2)
{
	$nodes[ $i - 1 ]->safe_psql('postgres',
		q{CREATE ROLE keeper LOGIN REPLICATION; GRANT CREATE ON DATABASE postgres TO keeper; GRANT ALL ON SCHEMA public TO keeper});
	$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$i;
		CREATE USER MAPPING FOR PUBLIC SERVER node$i OPTIONS (user 'keeper', password_required 'false'); SELECT shuttle.use_node('node$i')});
}
$query->safe_psql('postgres', q{CREATE ROLE author; GRANT USAGE ON FOREIGN SERVER node1, node2 TO author; CREATE SCHEMA author AUTHORIZATION author;
	GRANT USAGE ON SCHEMA shuttle TO author; SET ROLE author;
	CREATE FUNCTION author.f(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
	CREATE TABLE author.coded (id int PRIMARY KEY CHECK (author.f(id))); CREATE TABLE author.plain (id int PRIMARY KEY);
	INSERT INTO author.coded SELECT generate_series(1, 9); INSERT INTO author.plain SELECT generate_series(1, 9);
	SELECT shuttle.distribute_table('author.coded', 'id', 2), shuttle.distribute_table('author.plain', 'id', 3)});

sub find
{
	my ($table) = @_;
	return $query->safe_psql('postgres', qq{SELECT tablet FROM shuttle.tablets WHERE relation = 'author.$table'::regclass AND node = 'node1' ORDER BY tablet::text LIMIT 1});
}

$nodes[1]->safe_psql('postgres', 'ALTER ROLE keeper SUPERUSER');
my $coded = find('coded');
for my $call ("move_tablet('$coded', 'node2')", "split_tablet('$coded', 'node2')")
{
	my ($code, undef, $error) = $query->psql('postgres', "CALL shuttle.$call");

	like($error, qr/code of role "author" must not run on storage nodes\nDETAIL:  The remote user keeper: superuser/, "$call: refused");
	is($nodes[1]->safe_psql('postgres', 'SELECT count(*) FROM pg_subscription'), 0, "$call: nothing subscribes");
	is($nodes[0]->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots'), 0, "$call: no slot is left");
}
is(find('coded'), $coded, 'the tablet is where it was');
is(scalar $query->psql('postgres', q{CALL shuttle.move_tablet('} . find('plain') . q{', 'node2')}), 0, 'a table without code moves');

# ---- types that change meanwhile: a statement that changes one waits for moves of its tables, and moves for it
$query->safe_psql('postgres', q{CREATE DOMAIN small AS int; SET ROLE author; CREATE DOMAIN author.coded_domain AS int;
	CREATE FUNCTION author.g(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
	CREATE TABLE author.typed (id int PRIMARY KEY, c author.coded_domain); CREATE TABLE author.sized (id int PRIMARY KEY, s small);
	SELECT shuttle.distribute_table('author.typed', 'id', 2, nodes => '{node1}'), shuttle.distribute_table('author.sized', 'id', 3, nodes => '{node1}')});
my $session = $query->background_psql('postgres', on_error_stop => 1);
$session->query_safe('SET ROLE author; BEGIN; ALTER DOMAIN author.coded_domain ADD CONSTRAINT coded CHECK (author.g(VALUE)) NOT VALID');
my $typed = find('typed');
my (undef, undef, $waits) = $query->psql('postgres', "SET lock_timeout = '1s'; CALL shuttle.move_tablet('$typed', 'node2')");
like($waits, qr/lock timeout/, 'a move waits for a domain that gets a check');
$session->query_safe('COMMIT');
my (undef, undef, $refused) = $query->psql('postgres', "CALL shuttle.move_tablet('$typed', 'node2')");
like($refused, qr/code of role "author" must not run on storage nodes/, 'and knows of it then');
$session->query_safe(q{BEGIN; CREATE OR REPLACE FUNCTION author.g(int) RETURNS bool IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 > 0; END'});
(undef, undef, $waits) = $query->psql('postgres', "SET lock_timeout = '1s'; CALL shuttle.move_tablet('$typed', 'node2')");
like($waits, qr/lock timeout/, 'as for a function that is replaced');
$session->query_safe('ROLLBACK; RESET ROLE');
$session->query_safe('ALTER DOMAIN small ADD CONSTRAINT small CHECK (VALUE < 100) NOT VALID');
my (undef, undef, $moved) = $query->psql('postgres', q{CALL shuttle.move_tablet('} . find('sized') . q{', 'node2')});
is($moved, '', 'a check of a domain that was never validated comes along');
like($_->safe_psql('postgres', q{SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'small'}), qr/VALUE < 100/, 'it is on ' . $_->name) for @nodes;
$session->query_safe('ALTER DOMAIN small VALIDATE CONSTRAINT small; ALTER DOMAIN small DROP CONSTRAINT small');
is($_->safe_psql('postgres', q{SELECT count(*) FROM pg_constraint WHERE conname = 'small'}), 0, 'and is dropped on ' . $_->name) for @nodes;
$session->quit;

# ---- a role that may split, and owns nothing
$query->safe_psql('postgres', q{CREATE ROLE splitter; GRANT USAGE ON SCHEMA shuttle TO splitter; GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA shuttle TO splitter});
my (undef, undef, $said) = $query->psql('postgres', q{SET ROLE splitter; CALL shuttle.split_tablet('} . find('plain') . q{', 'node2')});
is($said, '', 'a split by a role that owns nothing');
is($query->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE reltuples < 0) FROM pg_class JOIN shuttle.tablets ON tablet = oid WHERE relation = 'author.plain'::regclass}),
	'4|0', 'the halves are analyzed');

# ---- a login of the new node that knew the names
$nodes[1]->safe_psql('postgres', 'DROP SCHEMA IF EXISTS shuttle_node CASCADE; CREATE ROLE mallory LOGIN; GRANT CREATE ON DATABASE postgres TO mallory; SET ROLE mallory; CREATE SCHEMA shuttle_node;
	CREATE FUNCTION shuttle_node.trap() RETURNS bool LANGUAGE plpgsql AS $$BEGIN ALTER ROLE mallory SUPERUSER; RETURN true; EXCEPTION WHEN OTHERS THEN RETURN true; END$$;
	GRANT ALL ON SCHEMA shuttle_node TO PUBLIC; CREATE SCHEMA late');
$query->safe_psql('postgres', q{CREATE SCHEMA late AUTHORIZATION author; SET ROLE author; CREATE TABLE late.t (id int PRIMARY KEY); INSERT INTO late.t SELECT generate_series(1, 9);
	SELECT shuttle.distribute_table('late.t', 'id', 5, nodes => '{node1}')});
my $late = $query->safe_psql('postgres', q{SELECT min(tablet::text) FROM shuttle.tablets WHERE relation = 'late.t'::regclass});
(undef, undef, $refused) = $query->psql('postgres', "CALL shuttle.move_tablet('$late', 'node2')");
like($refused, qr/role mallory can replace schema late on the storage node/, 'her schema gets no tablet');
$nodes[1]->safe_psql('postgres', 'DROP SCHEMA late');
(undef, undef, $refused) = $query->psql('postgres', "CALL shuttle.move_tablet('$late', 'node2')");
like($refused, qr/role mallory can replace function shuttle_node.trap\(\) on the storage node/, 'her function is not called');
is($nodes[1]->safe_psql('postgres', q{SELECT rolsuper, (SELECT count(*) FROM pg_subscription) FROM pg_roles WHERE rolname = 'mallory'}), 'f|0', 'and she is who she was');
$nodes[1]->safe_psql('postgres', 'DROP SCHEMA shuttle_node CASCADE');
is(scalar $query->psql('postgres', "CALL shuttle.move_tablet('$late', 'node2')"), 0, 'without it the tablet moves');

is($query->safe_psql('postgres', 'SELECT (SELECT count(*) FROM author.coded), (SELECT count(*) FROM author.plain)'), '9|9', 'rows are complete');
done_testing();
