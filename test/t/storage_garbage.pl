# Servers that say what none may say: of real answers one message is spoiled, in
# many ways, chosen by a seed. The statement has its right answer, or an error
# that says what is wrong; never a crash, a hang or wrong rows, and the next
# statement works.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleGarbage;
use ShuttleSession;

my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "max_prepared_transactions = 20\nlog_min_messages = fatal\nlog_min_error_statement = panic");
$far->start;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off\nlog_min_error_statement = panic");
$node->start;
my $garbage = ShuttleGarbage->new($far);
my $port = $garbage->port;
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$far->safe_psql('postgres', q{
	CREATE SCHEMA node;
	CREATE TABLE node.many AS
	SELECT i AS id, i % 10 AS n, 'text ä ' || i AS t, timestamptz '2024-01-01 12:00+00' + i * interval '1 hour' AS at,
		i / 7.0::float8 AS f, (i || '.50')::numeric AS d, md5(i::text)::uuid AS u, jsonb_build_object('i', i) AS j,
		ARRAY[i, NULL, -i] AS a, i % 3 = 0 AS b, ('\x' || md5(i::text))::bytea AS y, interval '1 day' * i AS v,
		int4range(i, i + 5) AS r, inet '10.0.0.1' + i AS net
	FROM generate_series(1, 60) i;
	ALTER TABLE node.many ADD PRIMARY KEY (id);
	CREATE TABLE node.written (id int PRIMARY KEY, t text);
	ANALYZE;});
$far->safe_psql('postgres', q{BEGIN; PREPARE TRANSACTION 'shuttle_of_somebody'});
$node->safe_psql('postgres', qq{
	CREATE EXTENSION pg_shuttle CASCADE;
	CREATE SERVER far FOREIGN DATA WRAPPER shuttle
		OPTIONS (host '127.0.0.1', port '$port', dbname 'postgres', sslmode 'disable', gssencmode 'disable');
	CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	CREATE SCHEMA f;
	IMPORT FOREIGN SCHEMA node FROM SERVER far INTO f;
	CREATE SCHEMA other;
	ALTER DATABASE postgres SET search_path = f, public;
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 20) i;
	ANALYZE wanted;
	CREATE SERVER store FOREIGN DATA WRAPPER shuttle
		OPTIONS (host '127.0.0.1', port '$port', dbname 'postgres', sslmode 'disable', gssencmode 'disable');
	CREATE USER MAPPING FOR PUBLIC SERVER store OPTIONS (user '$user');
	SELECT shuttle.use_node('store');
	CREATE TABLE spread (id int PRIMARY KEY, v int CHECK (v > 0), w int GENERATED ALWAYS AS (v + 1) STORED);
	CREATE TABLE kept (id int PRIMARY KEY REFERENCES spread, v int);
	CREATE TABLE here (id int PRIMARY KEY, v int);
	CREATE TABLE small (id int PRIMARY KEY, v int);
	INSERT INTO spread SELECT i, i FROM generate_series(1, 20) i;
	INSERT INTO kept SELECT i, i FROM generate_series(1, 20) i;
	INSERT INTO here SELECT i, i FROM generate_series(1, 20) i;
	INSERT INTO small SELECT i, i FROM generate_series(1, 5) i;
	SELECT shuttle.distribute_tables('{spread.id, kept.id}', tablets => 2);
	SELECT shuttle.reference_table('small');
	CREATE FUNCTION local(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN i; END';
});

# Each: settings, a statement, and what to do behind it.
my $pages = q{SET shuttle.fetch_limit = 10; SET shuttle.fetch_ahead = '64kB';};
my $batches = 'SET shuttle.debug_force_batched_join = on; SET shuttle.batch_size = 7;';
my $quiet = 'SET client_min_messages = warning; BEGIN;';
my %statements = (
	'an aggregate' => [ '', 'SELECT count(*), sum(n) FROM many;' ],
	'a row' => [ '', 'SELECT t, at, j FROM many WHERE id = 17;' ],
	'rows' => [ '', 'SELECT md5(string_agg(m::text, chr(10) ORDER BY id)) FROM many m WHERE id > local(0);' ],
	'pages' => [ $pages, 'SELECT md5(string_agg(m::text, chr(10) ORDER BY id)) FROM many m WHERE id > local(0);' ],
	'numbers in pages' => [ $pages, 'SELECT sum(id), sum(n), sum(f) FROM many WHERE id > local(0);' ],
	'a cursor' => [ "$pages BEGIN;", 'DECLARE c CURSOR FOR SELECT id, f FROM many; FETCH 25 FROM c; SELECT count(*) FROM many; SAVEPOINT s; FETCH 25 FROM c;', 'ROLLBACK;' ],
	'batches' => [ $batches, 'SELECT count(*), sum(m.n), max(m.t) FROM wanted w JOIN many m ON m.id = w.id;' ],
	'several keys' => [ $batches, 'SELECT count(*), sum(m.f) FROM wanted w LEFT JOIN many m ON m.id BETWEEN w.id AND w.id + 2 AND m.n < local(9);' ],
	'a write' => [ '', q{INSERT INTO written SELECT i, 'x' FROM generate_series(1, 5) i; SELECT count(*) FROM written;}, 'clear' ],
	'a returning write' => [ '', q{INSERT INTO written SELECT i, 'x' FROM generate_series(1, 5) i RETURNING id, t;}, 'clear' ],
	'a transaction' => [ 'BEGIN;', q{INSERT INTO written VALUES (1, 'a'); SAVEPOINT s; UPDATE written SET t = 'b' RETURNING t; ROLLBACK TO s; DELETE FROM written RETURNING t; COMMIT;}, 'ROLLBACK;', 'clear' ],
	'an update' => [ '', q{UPDATE many SET t = t WHERE id = local(3) RETURNING id, t;} ],
	'a lock' => [ 'BEGIN;', 'SELECT id FROM many WHERE n = 3 FOR UPDATE;', 'ROLLBACK;' ],
	'counters' => [ '', q{SELECT count(*) FROM many WHERE id > local(0); EXPLAIN (ANALYZE, DIST, COSTS off, TIMING off, SUMMARY off, BUFFERS off) SELECT f FROM many WHERE id > local(50);} ],
	'a sample' => [ '', 'ANALYZE many;' ],
	'an import' => [ '', 'IMPORT FOREIGN SCHEMA node FROM SERVER far INTO other; SELECT count(*) FROM pg_class WHERE relnamespace = $$other$$::regnamespace;', 'DROP SCHEMA other CASCADE; CREATE SCHEMA other;' ],
	'all nodes' => [ '', q{SELECT ok, sqlstate, result FROM shuttle.run_on_nodes('SELECT id, n FROM node.many WHERE id < 4', '{far}');} ],
	'a check of tables' => [ '', 'SELECT * FROM shuttle.check();' ],
	'a repair' => [ '', 'SELECT * FROM shuttle.check(repair => true);' ],
	'a distributed table' => [ $quiet, q{SELECT shuttle.distribute_table('here', 'id', 2); SELECT count(*) FROM here;}, 'ROLLBACK;' ],
	'a table brought back' => [ $quiet, q{SELECT shuttle.local_tables('{spread, kept}'); SELECT count(*) FROM spread;}, 'ROLLBACK;' ],
	'a changed table' => [ $quiet, q{ALTER TABLE spread ADD COLUMN x int DEFAULT 3, ADD CHECK (x < 4); CREATE INDEX ON spread (x); ALTER TABLE kept DROP CONSTRAINT kept_id_fkey; TRUNCATE spread;}, 'ROLLBACK;' ],
	'a cascade' => [ $quiet, q{TRUNCATE spread CASCADE; SET CONSTRAINTS ALL DEFERRED; DROP TABLE spread CASCADE;}, 'ROLLBACK;' ],
	'a routed statement' => [ '', 'UPDATE spread SET v = v WHERE id = 3 RETURNING *; SELECT count(*) FROM spread JOIN small USING (id) WHERE id = 4;' ],
	'a node' => [ '', q{SELECT count(*) FROM shuttle.use_node('store');} ],
	'what is prepared' => [ '', q{SELECT server, transaction, owner, state FROM shuttle.transactions;} ],
);

# 08: the connection; 22: a value; HV: what the wrapper expects; 2D, 25: of the
# transaction on the node; and what the node itself may say of what is missing.
my $right_code = qr/^(?:08(?:P01|006|007|001)|22\w\w\w|HV\w\w\w|57P01|25P0[12]|34000|3B001|26000|23505|40000)$/;

my $session = ShuttleSession->new($node, 'postgres');
my $control = ShuttleSession->new($far, 'postgres');
# libpq 18 with assertions fails one if ReadyForQuery comes in the middle of rows.
my @kinds = grep { $_ ne 'ready' } ShuttleGarbage::kinds();
my ($ncases, $nspoiled) = (0, 0);
my (%codes, @wrong);

sub clear
{
	my (undef, undef, @behind) = @_;
	for my $behind (@behind)
	{
		if ($behind eq 'clear') { $control->run('DELETE FROM node.written;'); }
		else { $session->run("SET client_min_messages = error; $behind RESET client_min_messages;"); }
	}
	return;
}

# The numbers of EXPLAIN depend on what else happened in the session.
sub plain { my $text = shift; return $text =~ s/^.*(?:Storage|actual|Peak|Buffers).*\n?//gmr; }

sub attempt
{
	my ($name, $kind, $number, $seed, $right) = @_;
	my ($before, $statement, @behind) = @{ $statements{$name} };
	$session->run($before);
	$garbage->spoil($kind, $number, $seed);
	my ($out, $err) = $session->run($statement);
	my $spoiled = $garbage->spoiled;
	$ncases++;
	$nspoiled++ if $spoiled ne '';
	my $label = "$name: $kind $number $seed ($spoiled)";
	my @codes = $err =~ /^(?:ERROR|FATAL|PANIC):  (\w{5}):/mg;
	$codes{$_}++ for @codes;
	my @odd = grep { !/$right_code/ } @codes;
	@odd = () if $kind =~ /error/ && @odd == 1;		# a node's own code is kept
	@odd = () if $name eq 'an import' && "@odd" =~ /^(?:42|3F)/;	# a name that is none
	@odd = () if $kind eq 'other_types' && "@odd" =~ /^42(?:804|883|704)$/;	# the node about types that are not its own
	@odd = () if $name =~ /write|transaction/ && "@odd" =~ /^42(?:601|704|804)$/;	# the node about a type that it had not said
	@odd = () if $kind =~ /^(?:tag|empty)$/ && "@odd" eq '40001';	# a result too many: the next one's number of rows is not that of those sent
	@odd = () if $name =~ /table|node|repair/ && "@odd" =~ /^(?:55000|23\w\w\w|42\w\w\w)$/;	# what the node is, or has, by its own words
	push @wrong, "$label: $err" if @odd || $err =~ /^server closed the connection|^FATAL|^PANIC/m;
	if ($name eq 'all nodes')
	{
		# A second answer is that of a second statement in the text. A CommandComplete
		# that comes twice is one, without rows.
		return if $out =~ /^f\|(?!XX)\w{5}\|/m || $kind eq 'tag' || ("$kind $spoiled" eq 'twice C' && $out =~ /^t\|\|$/m);
	}
	return if $name eq 'what is prepared' && $out =~ /\|not known: /;

	# rules of a node may return another number of rows than were written, so a missing one is not noticed
	my $may_miss = $name eq 'a returning write' && $kind eq 'dropped';
	if (!@codes && !$may_miss && ShuttleGarbage::keeps_values($kind) && plain($out) ne plain($right))
	{
		push @wrong, "$label: says $out, not $right";
	}
	clear(@{ $statements{$name} });
	$session->run('RESET ALL;') if $before =~ /SET/;
	return;
}

for my $name (sort keys %statements)
{
	my ($before, $statement) = @{ $statements{$name} };
	my $right;

	# As it is when the session knows the statement, and when it does not.
	for (1 .. 3)
	{
		$session->run($before);
		$garbage->spoil('cut', 1e9, 0);
		my ($out, $err) = $session->run($statement);
		is($err, '', "$name: unspoiled");
		$right = $out;
		clear(@{ $statements{$name} });
		$session->run('RESET ALL;') if $before =~ /SET/;
	}
	my %nmessages;
	for my $kind (@kinds)
	{
		$nmessages{$kind} = $garbage->messages($kind);
	}
	srand(length($name) * 1000 + ord $name);
	for my $kind (@kinds)
	{
		next unless $nmessages{$kind};
		my $often = $kind =~ /flip|dropped|twice|short|long|^tag/ ? 3 : $kind eq 'null' && $name =~ /table|node|repair/ ? 10 : 1;
		attempt($name, $kind, 1 + int(rand($nmessages{$kind})), int(rand(1e6)), $right) for 1 .. $often;
	}
	my ($out, $err) = $session->run('SELECT count(*), sum(n) FROM many;');
	is("$out$err", '60|270', "$name: the next statement works");
	is(join("\n", splice @wrong), '', "$name: right answers or right errors");
}
note("$ncases cases, $nspoiled spoiled; " . join(', ', map { "$_: $codes{$_}" } sort keys %codes));
cmp_ok($nspoiled, '>', 400, 'cases');

$session->quit;
ok( $control->poll(q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name LIKE 'pg_shuttle %'}),
	'no connection is left');
$control->quit;
$_->stop for $node, $far;
done_testing();
