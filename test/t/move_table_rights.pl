# A superuser moves tables of others: their code does not run with his rights on the new node, a table
# gets its owner and privileges at the end, and whose it is on the node is looked at.
use strict;
use warnings;

use Test::More;

use ShuttleCommit;
use ShuttlePoints;
use ShuttleSession;

my $cluster = ShuttleCommit->new(2, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nwal_retrieve_retry_interval = 200ms\n");
my ($query, @nodes) = ($cluster->{query}, @{ $cluster->{nodes} });
my $points = ShuttlePoints->new($query);

for my $node (@nodes)
{
	$node->safe_psql('postgres', q{CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE reader; CREATE SCHEMA alice AUTHORIZATION alice; CREATE SCHEMA bob AUTHORIZATION bob; CREATE SCHEMA trusted; GRANT USAGE ON SCHEMA trusted TO PUBLIC;
		CREATE FUNCTION trusted.same(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN x; END';
		CREATE DOMAIN trusted.number AS int CHECK (trusted.same(VALUE) > 0); CREATE TYPE trusted.kind AS ENUM ('a');
		CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO PUBLIC; CREATE TYPE shared.kind AS ENUM ('a');
		SET ROLE alice;
		CREATE FUNCTION alice.same(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN IF current_user <> ''alice'' THEN RAISE ''run by %'', current_user; END IF; RETURN x; END';
		CREATE FUNCTION alice.less(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 < alice.same($2)';
		CREATE OPERATOR alice.<<< (FUNCTION = alice.less, LEFTARG = int, RIGHTARG = int);
		CREATE DOMAIN alice.number AS int; CREATE TYPE alice.kind AS ENUM ('a'); CREATE TYPE alice.pair AS (a alice.number[], b int);});
}
$query->safe_psql('postgres', q{CREATE ROLE alice; CREATE ROLE bob; CREATE SCHEMA alice AUTHORIZATION alice; CREATE SCHEMA bob AUTHORIZATION bob; GRANT USAGE ON FOREIGN SERVER node1, node2 TO alice, bob;});
for my $role ('alice', 'bob')
{
	$query->safe_psql('postgres', "CREATE USER MAPPING FOR $role SERVER node$_ OPTIONS (user '$role', password_required 'false')") for 1, 2;
}

sub move
{
	my ($table) = @_;
	my (undef, undef, $err) = $query->psql('postgres', "\\set VERBOSITY verbose\nCALL shuttle.move_table('$table', 'node2')");
	return $err;
}

sub make
{
	my ($name, $columns, $more) = @_;
	$nodes[0]->safe_psql('postgres', "SET ROLE alice; CREATE TABLE alice.$name ($columns); INSERT INTO alice.$name VALUES (1); " . ($more // ''));
	$query->safe_psql('postgres', "SET ROLE alice; CREATE FOREIGN TABLE alice.$name (id int) SERVER node1");
	return;
}

# ---- code that she can change

for my $case ([ 'checks', 'id int CHECK (alice.same(id) > 0)' ],
	[ 'generates', 'id int PRIMARY KEY, g int GENERATED ALWAYS AS (alice.same(id)) STORED' ],
	[ 'indexes', 'id int', 'CREATE INDEX ON alice.indexes ((id + alice.same(1)))' ],
	[ 'partly', 'id int', 'CREATE INDEX ON alice.partly (id) WHERE alice.same(id) > 0' ],
	[ 'counts', 'id int', 'CREATE STATISTICS alice.counted ON (alice.same(id)), (id + 1) FROM alice.counts' ],
	[ 'operators', 'id int CHECK (NOT id OPERATOR(alice.<<<) 0)' ],
	[ 'domains', 'id int, d alice.number' ],
	[ 'pairs', 'id int, d alice.pair[]' ],
	# the owner of a type may make a cast for it on the new node: the cast from text there calls her function
	[ 'kinds', q{id int, x text DEFAULT 'a' CHECK ((x::alice.kind) IS NOT NULL)} ],
	# whoever may create in a schema can make a better match
	[ 'shares', q{id int, x text CHECK (x <> ('a'::shared.kind)::text)}, undef, 'bob|alice|reader|pg_\\w+' ])
{
	my ($name, $columns, $more, $role) = @$case;
	$role //= 'alice';
	make($name, $columns, $more);
	like(move("alice.$name"), qr/ERROR:  42501: foreign table "$name" cannot be moved\nDETAIL:  It needs (?:function|type) \S+, which role "(?:$role)" of storage node "node2" can change, and which could run with the rights of role "\w+" there\./, "$name: refused");
	is($nodes[1]->safe_psql('postgres', "SELECT to_regclass('alice.$name')"), '', 'and the new node has nothing of it');
}
# what another role owns in her schema she can drop, and make another one
$nodes[1]->safe_psql('postgres', 'DROP OPERATOR alice.<<< (int, int); ALTER FUNCTION alice.same OWNER TO CURRENT_USER');
like(move('alice.checks'), qr/needs function alice.same\(integer\), which role "alice"/, 'in a schema of hers: refused');
is($nodes[1]->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relnamespace = 'alice'::regnamespace AND relkind = 'r'}), '0', 'no table has come');

# ---- PostgreSQL's own functions that run what a table's owner wrote, or check a domain that has only a number

for my $case ([ 'queries', q{ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery WHERE alice.same(1) > 0') IS NOT NULL} ],
	[ 'inputs', q{domain_in('1'::cstring, 'alice.number'::regtype, -1) IS NOT NULL} ])
{
	my ($name, $check) = @$case;
	make($name, "id int CHECK ($check)");
	like(move("alice.$name"), qr/ERROR:  0A000: foreign table "$name" cannot be moved\nDETAIL:  Its definition there calls function \w+\(\), which is not immutable\./, "$name: refused");
	is($nodes[1]->safe_psql('postgres', "SELECT to_regclass('alice.$name')"), '', 'and the new node has nothing of it');
}
# what is printed as a value's or the table's field may call a function
for my $case ([ 'fields', q{(NULL::alice.pair).a IS NULL} ], [ 'rows', q{(rows.*) IS NOT NULL} ])
{
	my ($name, $check) = @$case;
	make($name, "id int CHECK ($check)");
	like(move("alice.$name"), qr/ERROR:  08P01: storage node "node1" gave a statement that does not define table alice\.$name/, "$name: refused");
}
# what the new node does not have can come while the table is made
$nodes[0]->safe_psql('postgres', q{SET ROLE alice; CREATE FUNCTION alice.only_here(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true'});
make('lacks', 'id int CHECK (alice.only_here(id))');
like(move('alice.lacks'), qr/ERROR:  0A000: .*\nDETAIL:  It needs function alice.only_here, which storage node "node2" does not have\./, 'a function is missing there');
# a column that is dropped meanwhile would get its default, which is evaluated for each row
$_->safe_psql('postgres', 'SET ROLE alice; CREATE SEQUENCE alice.seen') for @nodes;
make('defaults', q{id int PRIMARY KEY, d int DEFAULT nextval('alice.seen')});
{
	my $writer = ShuttleSession->new($nodes[0], 'postgres');
	my $mover = ShuttleSession->new($query, 'postgres');
	$writer->run('BEGIN; CREATE TEMP TABLE holds (id int);');
	$mover->send(q{CALL shuttle.move_table('alice.defaults', 'node2');});
	ok($nodes[0]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%pg_create_logical_replication_slot%' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()}), 'a slot waits');
	$nodes[0]->safe_psql('postgres', 'ALTER TABLE alice.defaults DROP COLUMN d');
	$writer->run('COMMIT;');
	is(($mover->result)[1], '', 'the table moves');
	is($nodes[1]->safe_psql('postgres', 'SELECT is_called FROM alice.seen; SELECT * FROM alice.defaults'), "f\n1|", 'nobody has evaluated it');
	$_->quit for $writer, $mover;
}
make('clocks', q{id int CHECK (id > date_part('year', now()) - 10000), at timestamptz DEFAULT clock_timestamp(), n serial, g int GENERATED ALWAYS AS IDENTITY, u uuid DEFAULT gen_random_uuid()},
	q{ALTER TABLE alice.clocks ADD "N""n" serial; COMMENT ON COLUMN alice.clocks.at IS 'when'; COMMENT ON TABLE alice.clocks IS E'line\n--'; CREATE STATISTICS alice."C ount" (ndistinct) ON id, at FROM alice.clocks; GRANT USAGE ON SEQUENCE alice.clocks_n_seq TO reader});
$query->safe_psql('postgres', 'ALTER ROLE postgres SET quote_all_identifiers = on; ALTER ROLE postgres SET standard_conforming_strings = off');
is(move('alice.clocks'), '', 'clocks are known, and defaults are not evaluated');
$query->safe_psql('postgres', 'ALTER ROLE postgres RESET ALL');
is($nodes[1]->safe_psql('postgres', q{SELECT adbin IS NOT NULL FROM pg_attrdef WHERE adrelid = 'alice.clocks'::regclass AND adnum = 2; SELECT last_value FROM alice."clocks_N""n_seq"; SELECT last_value, is_called FROM alice.clocks_n_seq; SELECT has_sequence_privilege('reader', 'alice.clocks_n_seq', 'USAGE'), pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'clocks_n_seq'}), "t\n1\n1|t\nt|alice", 'defaults and sequences follow');

# ---- search_path that code of hers has left in the session

$nodes[0]->safe_psql('postgres', q{SET ROLE alice; CREATE FUNCTION alice.format(text, VARIADIC text[]) RETURNS text LANGUAGE sql AS $$SELECT 'ALTER ROLE alice SUPERUSER'::text$$;
	CREATE FUNCTION alice.format(text, text) RETURNS text LANGUAGE sql AS $$SELECT 'ALTER ROLE alice SUPERUSER'::text$$;
	CREATE FUNCTION alice.leave() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM set_config('search_path', 'alice, pg_catalog', false); RETURN NEW; END$$;
	CREATE TABLE alice.leaves (id int); CREATE TRIGGER leave BEFORE INSERT ON alice.leaves FOR EACH ROW EXECUTE FUNCTION alice.leave()});
$query->safe_psql('postgres', 'SET ROLE alice; CREATE FOREIGN TABLE alice.leaves (id int) SERVER node1');
make('stays', 'id int PRIMARY KEY');
is(($query->psql('postgres', q{INSERT INTO alice.leaves VALUES (1); CALL shuttle.move_table('alice.stays', 'node2')}))[2], '', 'a table moves in that session');
is($nodes[1]->safe_psql('postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'alice'}), 'f', 'and nothing else has happened');

# ---- the owner of a schema puts a table of her own in the place of the half copied one

make('swapped', 'id int PRIMARY KEY');
my ($writer, $mover) = map { ShuttleSession->new($_, 'postgres') } $nodes[0], $query;
$writer->run('BEGIN; INSERT INTO alice.swapped VALUES (2);');
$mover->send(q{CALL shuttle.move_table('alice.swapped', 'node2');});
ok($nodes[0]->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%pg_create_logical_replication_slot%' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()}),
	'a slot waits for a transaction');
$nodes[1]->safe_psql('postgres', q{SET ROLE alice; DROP TABLE alice.swapped; CREATE TABLE alice.swapped (id int PRIMARY KEY);
	CREATE FUNCTION alice.seize() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO alice.seized VALUES (current_user); RETURN NEW; END$$; CREATE TABLE alice.seized (who name);
	CREATE TRIGGER seize BEFORE INSERT ON alice.swapped FOR EACH ROW EXECUTE FUNCTION alice.seize(); ALTER TABLE alice.swapped ENABLE ALWAYS TRIGGER seize});
$writer->run('COMMIT;');
my (undef, $swapped) = $mover->result;
like($swapped, qr/somebody has put another table in the place of the one that the move has made/, 'the move ends');
is($nodes[1]->safe_psql('postgres', 'SELECT count(*) FROM alice.seized'), '0', 'her trigger has not run');
is($query->safe_psql('postgres', 'SELECT count(*) FROM alice.swapped; SELECT count(*) FROM shuttle.check()'), "2\n0", 'the rows are where they were');
$_->quit for $writer, $mover;

# ---- code of superusers, and none

make('plain', 'id int PRIMARY KEY CHECK (trusted.same(id) > 0), d trusted.number, k trusted.kind', q{GRANT SELECT, TRIGGER ON alice.plain TO reader; CREATE INDEX ON alice.plain (trusted.same(id));});
SKIP:
{
	skip 'the server has no points to stop at', 1 unless defined $points;
	my $session = ShuttleSession->new($query, 'postgres');
	my $state = q{SELECT pg_get_userbyid(relowner) = 'alice', relacl IS NULL FROM pg_class WHERE oid = 'alice.plain'::regclass};
	for my $point ('move-made', 'move-copied')
	{
		$points->arm($point);
		$session->send(q{CALL shuttle.move_table('alice.plain', 'node2');});
		ok($points->reached($point, $session->pid), "$point: gets there");
		is($nodes[1]->safe_psql('postgres', $state), 'f|t', 'the half copied table is not hers, and nobody has privileges');
		$nodes[0]->safe_psql('postgres', q{CREATE TRIGGER later BEFORE INSERT ON alice.plain FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()}) if $point eq 'move-copied';
		if ($point eq 'move-made') { $query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')'); }
		$points->release($point);
		my (undef, $error) = $session->result;
		like($error, $point eq 'move-made' ? qr/canceling statement/ : qr/It has trigger "later" there/, 'the move ends');
		$points->forget;
		$query->safe_psql('postgres', 'SELECT * FROM shuttle.check(repair => true)');
	}
	$session->quit;
	$nodes[0]->safe_psql('postgres', 'DROP TRIGGER later ON alice.plain');
}
is(move('alice.plain'), '', 'a table with code of superusers moves');
is($nodes[1]->safe_psql('postgres', q{SELECT pg_get_userbyid(relowner), has_table_privilege('reader', oid, 'TRIGGER') FROM pg_class WHERE oid = 'alice.plain'::regclass}), 'alice|t', 'and is hers again');

# ---- a schema whose owner could put another table in its place later

$_->safe_psql('postgres', 'CREATE SCHEMA place AUTHORIZATION alice') for $nodes[0], $query;
$nodes[0]->safe_psql('postgres', 'SET ROLE alice; CREATE TABLE place.taken (id int PRIMARY KEY); INSERT INTO place.taken VALUES (1)');
$query->safe_psql('postgres', 'SET ROLE alice; CREATE FOREIGN TABLE place.taken (id int) SERVER node1');
$nodes[1]->safe_psql('postgres', 'CREATE SCHEMA place AUTHORIZATION bob; GRANT ALL ON SCHEMA place TO alice');
like(move('place.taken'), qr/ERROR:  42501: role bob can replace schema place on the storage node/, q{another role's schema: refused});
is($nodes[1]->safe_psql('postgres', q{SELECT to_regclass('place.taken')}), '', 'and the new node has nothing of it');
$nodes[1]->safe_psql('postgres', 'ALTER SCHEMA place OWNER TO alice; GRANT ALL ON SCHEMA place TO bob');
is(move('place.taken'), '', 'in a schema of its owner it moves');
is($query->safe_psql('postgres', 'SELECT * FROM place.taken'), '1', 'with its rows');

# ---- a role that the new node lacks is found before rows are copied

make('granted', 'id int', 'RESET ROLE; CREATE ROLE missing; GRANT SELECT ON alice.granted TO missing');
like(move('alice.granted'), qr/role "missing" does not exist/, 'a role is missing');
is($nodes[1]->safe_psql('postgres', q{SELECT to_regclass('alice.granted')}), '', 'no table is left');

# ---- tables of others

$nodes[0]->safe_psql('postgres', 'SET ROLE bob; CREATE TABLE bob.secret (id int); INSERT INTO bob.secret VALUES (1); GRANT USAGE ON SCHEMA bob TO alice; GRANT SELECT ON bob.secret TO alice');
$query->safe_psql('postgres', q{SET ROLE alice; CREATE FOREIGN TABLE alice.harmless (id int) SERVER node1 OPTIONS (schema_name 'bob', table_name 'secret')});
like(move('alice.harmless'), qr/ERROR:  42501: .*\nDETAIL:  Table bob.secret of storage node "node1" does not belong to the remote user of "alice"/, 'a table of another role');
$nodes[0]->safe_psql('postgres', 'REVOKE USAGE ON SCHEMA bob FROM alice');
like(move('alice.harmless'), qr/ERROR:  42501: permission denied for schema bob/, 'in a schema that she may not use');
$query->safe_psql('postgres', q{DROP FOREIGN TABLE alice.harmless; SET ROLE bob; CREATE FOREIGN TABLE bob.secret (id int) SERVER node1});
is(move('bob.secret'), '', 'his own one moves');
is($query->safe_psql('postgres', 'SELECT * FROM bob.secret'), '1', 'with its rows');
is($query->safe_psql('postgres', 'SELECT * FROM shuttle.check()'), '', 'check finds nothing');
$cluster->stop;
done_testing();
