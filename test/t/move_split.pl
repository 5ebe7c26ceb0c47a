# Tablets are split in two while clients write to them: no row is lost, doubled or in the
# wrong half; statements, DDL, dumps, colocated tables and moves know tablets of all sizes.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttlePoints;
use ShuttleSession;
use ShuttleSplits;

my $splits = ShuttleSplits->new;
my ($query, @nodes) = ($splits->{query}, @{ $splits->{nodes} });
my $points = ShuttlePoints->new($query);
my $error;

sub value { return $query->safe_psql('postgres', $_[0]); }

# ---- without traps, to a node that never had a table of the group
value(q{INSERT INTO shop.orders SELECT nextval('shop.numbers'), 1 + i % 100 FROM generate_series(0, 1999) AS i;
	INSERT INTO shop.log SELECT 1 + i % 100, 'changed' FROM generate_series(0, 1999) AS i; UPDATE shop.customer SET n = 20});
my $kept = ShuttleSession->new($query, 'postgres');
$kept->run(q{PREPARE one AS SELECT count(*) FROM shop.orders WHERE customer_id = $1;
	PREPARE pair AS SELECT count(*) FROM shop.customer AS c JOIN shop.orders AS o ON o.customer_id = c.id WHERE c.id = $1;});
sub name_count
{
	my ($table) = @_;
	return value("SELECT count FROM shuttle.tablet_names WHERE name = '$table'");
}
sub kept_answers
{
	my $sql = join ' ', map { "EXECUTE one($_); EXECUTE pair($_);" } 1 .. 40;
	my ($out) = $kept->run($sql);
	return $out;
}
my $answers = kept_answers();
is($splits->call('split_tablet', 'shop.orders_t3', 'node3'), '', 'a tablet is split');
is($splits->layout, '0/4 node1, 1/4 node2, 2/4 node1, 3/8 node3, 7/8 node3', 'in two halves on the new node');
is(kept_answers(), $answers, 'kept plans find all rows');
$splits->all_fits('first split');
is($nodes[1]->safe_psql('postgres', q{SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relname ~ '_t\d+(_\d+)?$' AND relkind = 'r'}), 'customer_t1 log_t1 orders_t1', 'the old node has the others');
is($nodes[2]->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname ~ '_t(3|7)_1$' AND relkind = 'r' AND reltuples > 0}), '6', 'the halves are analyzed there');
is(value(q{SELECT count(*) FROM shuttle.tablets WHERE estimated_rows > 0 AND tablet::text ~ '_t(3|7)_1$'}), '6', 'and here');
is(value(q{SELECT pg_get_userbyid(relowner) = current_user FROM pg_class WHERE oid = 'shuttle_tablets.orders_t7_1'::regclass}), 't', 'the owner is that of the table');
my $plan = value(q{EXPLAIN (COSTS off) SELECT * FROM shop.customer AS c JOIN shop.orders AS o ON o.customer_id = c.id});
is(scalar(() = $plan =~ /Foreign Scan/g), 5, 'tables are joined on their nodes, half by half') or diag($plan);
for my $c (1 .. 10)
{
	$plan = value(qq{SET shuttle.enable_router = off; EXPLAIN (COSTS off) SELECT * FROM shop.orders WHERE customer_id = $c});
	like($plan, qr/Foreign Scan on orders_t\d+(_\d+)? /, "key $c is in one tablet") or diag($plan);
}

# ---- with traps
value(q{SELECT shuttle.distribute_function('shop.add(int)', 'c', 'shop.orders'); ALTER TABLE shop.orders ADD COLUMN note text; CREATE UNIQUE INDEX ON shop.orders (customer_id, id, note)});
is($splits->call('split_tablet', 'shop.log_t0', 'node2'), '', 'a tablet is split where nodes have traps');
is($splits->layout, '0/8 node2, 1/4 node2, 2/4 node1, 3/8 node3, 4/8 node2, 7/8 node3', 'on a node that has others');
is($splits->call('split_tablet', 'shop.customer_t7', 'node1'), '', 'a half is split again');
is($splits->layout, '0/8 node2, 1/4 node2, 2/4 node1, 3/8 node3, 4/8 node2, 7/16 node1, 15/16 node1', 'in quarters');
is($splits->call('move_tablet', 'shop.orders_t15', 'node3'), '', 'a quarter moves');
is($splits->call('move_tablet', 'shop.orders_t4', 'node3'), '', 'and a half');
is(value(q{SELECT count(*) FROM generate_series(1, 100) AS c WHERE shop.add(c) <> (SELECT n FROM shop.customer WHERE id = c)}), '0', 'calls see the rows');
is(kept_answers(), $answers, 'kept plans find all rows again');
$splits->all_fits('quarters');
(undef, undef, $error) = $query->psql('postgres', q{INSERT INTO shop.orders (id, customer_id) SELECT 1, 1000 + i FROM generate_series(1, 40) AS i});
like($error, qr/foreign key/, 'foreign keys hold');
(undef, undef, $error) = $query->psql('postgres', qq{INSERT INTO shop.customer VALUES ($_, 0, 0)}), like($error, qr/duplicate key.* "customer_pkey"/, "keys hold: $_") for 1 .. 20;

# ---- tables of other kinds: keys of all types, rows that refer to each other, triggers, columns that were dropped
for my $type ('text COLLATE "C"', 'varchar(20)', 'char(8)', 'numeric', 'uuid', 'bigint', 'timestamptz', 'bytea', 'int4range')
{
	my $value = $type =~ /^(text|varchar|char)/ ? q{'k' || i} : $type eq 'uuid' ? 'md5(i::text)::uuid' : $type eq 'timestamptz' ? q{'2020-01-01'::timestamptz + i * interval '1 hour'} :
		$type eq 'bytea' ? 'i::text::bytea' : $type eq 'int4range' ? 'int4range(i, i + 3)' : 'i';
	value(qq{CREATE TABLE shop.typed (k $type, i int, PRIMARY KEY (k, i)); INSERT INTO shop.typed SELECT $value, i FROM generate_series(1, 60) AS i; SELECT shuttle.distribute_table('shop.typed', 'k', 1, nodes => '{node1}')});
	is($splits->call('split_tablet', 'shop.typed_t0', 'node2') . $splits->call('split_tablet', 'shop.typed_t1', 'node3'), '', "key of type $type");
	is(value(q{SELECT string_agg(bounds, ' ' ORDER BY bounds) FROM shuttle.tablets WHERE relation = 'shop.typed'::regclass}),
		'FOR VALUES WITH (modulus 2, remainder 0) FOR VALUES WITH (modulus 4, remainder 1) FOR VALUES WITH (modulus 4, remainder 3)', 'is split twice');
	is(value(qq{SELECT count(*) FROM generate_series(1, 60) AS i, LATERAL (SELECT FROM shop.typed AS t WHERE k = $value AND t.i = i.i) AS t}) . value('SELECT count(*) FROM shop.typed'), '6060', 'and all rows are found');
	is(value(q{SELECT * FROM shuttle.check()}), '', 'where they belong');
	value('DROP TABLE shop.typed');
}
value(q{CREATE TABLE shop.tree (owner int, id int, parent int, PRIMARY KEY (owner, id), FOREIGN KEY (owner, parent) REFERENCES shop.tree);
	INSERT INTO shop.tree SELECT i % 40, i, nullif(i - 40, i % 40 - 40) FROM generate_series(0, 3999) AS i; SELECT shuttle.distribute_table('shop.tree', 'owner', 2, nodes => '{node1}')});
is($splits->call('split_tablet', "shop.tree_t$_->[0]", $_->[1]), '', "a tree is split, $_->[0]") for [ 0, 'node2' ], [ 2, 'node1' ], [ 1, 'node3' ];
is(value('SELECT count(*), count(parent) FROM shop.tree'), '4000|3960', 'it is whole');
(undef, undef, $error) = $query->psql('postgres', 'INSERT INTO shop.tree SELECT i, 9000, 8000 FROM generate_series(0, 39) AS i');
like($error, qr/foreign key/, 'its foreign key holds');
value(q{DROP TABLE shop.tree; CREATE TABLE shop.seen (what text);
	CREATE FUNCTION shop.see() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO shop.seen VALUES (TG_NAME || ' ' || TG_OP); RETURN NULL; END$$;
	CREATE TABLE shop.watched (gone int, k int PRIMARY KEY, n int DEFAULT 5 CHECK (n > 0), twice int GENERATED ALWAYS AS (n * 2) STORED);
	SELECT shuttle.distribute_table('shop.watched', 'k', 1, nodes => '{node1}');
	CREATE TRIGGER look AFTER INSERT OR UPDATE OR DELETE ON shop.watched FOR EACH ROW EXECUTE FUNCTION shop.see();
	CREATE TRIGGER sleep AFTER INSERT OR UPDATE OR DELETE ON shop.watched FOR EACH ROW EXECUTE FUNCTION shop.see();
	ALTER TABLE shop.watched DISABLE TRIGGER sleep; ALTER TABLE shop.watched DROP COLUMN gone; INSERT INTO shop.watched (k) SELECT generate_series(1, 20); TRUNCATE shop.seen});
is($splits->call('split_tablet', 'shop.watched_t0', 'node2'), '', 'a table with triggers and a dropped column is split');
value(q{INSERT INTO shop.watched (k) SELECT generate_series(21, 40); UPDATE shop.watched SET n = 6 WHERE k = 1; UPDATE shop.watched SET n = n + 1 WHERE k < 11; DELETE FROM shop.watched WHERE k IN (2, 30)});
is(value('SELECT what, count(*) FROM shop.seen GROUP BY 1 ORDER BY 1'), "look DELETE|2\nlook INSERT|20\nlook UPDATE|11", 'triggers fire as before');
value(q{ALTER TABLE shop.watched DISABLE TRIGGER look});
value(qq{UPDATE shop.watched SET n = $_ WHERE k = $_}) for 1 .. 10;
is(value('SELECT count(*), sum(n), sum(twice), sum(k) FROM shop.watched'), '38|198|396|788', 'rows are right');
is(join(' ', map { value("SELECT twice FROM shop.watched WHERE k = $_") } 1, 3 .. 10), '2 6 8 10 12 14 16 18 20', 'and each is found');
(undef, undef, $error) = $query->psql('postgres', qq{INSERT INTO shop.watched VALUES ($_, -1)}), like($error, qr/watched_n_check/, "the check holds: $_") for 51 .. 56;
$nodes[1]->safe_psql('postgres', 'DROP TABLE shop.watched');
is(value('SELECT problem FROM shuttle.check(repair => true)'), 'has no table; an empty one was made', 'a node that has lost halves gets them again');
is(value('INSERT INTO shop.watched SELECT generate_series(1, 40); SELECT count(*) FROM shop.watched'), '40', 'and they take rows');
value('DROP TABLE shop.watched, shop.seen; DROP FUNCTION shop.see');
$splits->all_fits('other kinds');

# as many tablets on the same nodes, in core's order, but of other bounds
value(q{CREATE TABLE shop.a (k int PRIMARY KEY); CREATE TABLE shop.b (k int PRIMARY KEY); INSERT INTO shop.a SELECT generate_series(1, 20); INSERT INTO shop.b TABLE shop.a;
	SELECT shuttle.distribute_table('shop.a', 'k', 2, nodes => '{node1,node2}'); SELECT shuttle.distribute_table('shop.b', 'k', 3, nodes => '{node2}')});
is($splits->call('split_tablet', 'shop.a_t0', 'node2') . $splits->call('move_tablet', 'shop.a_t2', 'node1') . $splits->call('move_tablet', 'shop.b_t2', 'node1'), '', 'two groups');
is(value("SELECT count(*) FROM shop.a JOIN shop.b USING (k) WHERE k = $_"), '1', "are not taken for one: $_") for 1 .. 20;
value('DROP TABLE shop.a, shop.b');

# ---- other tables, DDL
value(q{CREATE TABLE shop.beside (id int PRIMARY KEY, note text); INSERT INTO shop.beside SELECT i, 'note' FROM generate_series(1, 100) AS i;
	SELECT shuttle.distribute_table('shop.beside', 'id', colocate_with => 'shop.orders');
	CREATE TABLE shop.like_them (id int PRIMARY KEY); SELECT shuttle.distribute_table('shop.like_them', 'id', 4)});
my $bounds = q{SELECT string_agg(bounds || node, ', ' ORDER BY bounds) FROM shuttle.tablets WHERE relation = 'shop.%s'::regclass};
is(value(sprintf $bounds, $_), value(sprintf $bounds, 'customer'), "$_ lies beside them") for 'beside', 'like_them';
is(value(q{SELECT count(*) FROM shop.beside JOIN shop.customer USING (id)}), '100', 'and is joined');
value(q{ALTER TABLE shop.beside ALTER COLUMN note TYPE varchar USING upper(note); ALTER TABLE shop.beside RENAME TO renamed; ALTER TABLE shop.renamed ADD UNIQUE (id, note)});
is(value(q{SELECT count(*) FROM shop.renamed WHERE note = 'NOTE' AND id BETWEEN 1 AND 100}), '100', 'DDL reaches halves');
is(value(q{SELECT string_agg(tablet::text, ' ' ORDER BY length(tablet::text), tablet::text) FROM shuttle.tablets WHERE relation = 'shop.renamed'::regclass}),
	join(' ', map { "shuttle_tablets.renamed_t$_" } 0, 1, 2, 3, 4, 7, 15), 'they keep their numbers');
is(value(q{SELECT id FROM shop.renamed WHERE id = } . $_ . q{ AND note = 'NOTE'}), $_, "and $_ is found") for 1 .. 20;
$splits->all_fits('DDL');
is(value(q{SELECT shuttle.local_table('shop.renamed'); SELECT count(*) FROM shop.renamed}), "\n100", 'a table with halves is brought back');
value(q{DROP TABLE shop.renamed, shop.like_them});

# ---- a dump
my $dump = "$PostgreSQL::Test::Utils::tmp_check/split.sql";
$query->command_ok([ 'pg_dump', '-d', $query->connstr('postgres'), '-f', $dump ], 'pg_dump');
value('CREATE DATABASE restored');
(undef, undef, $error) = $query->psql('restored', "SET shuttle.enable_ddl = off;\n\\i $dump", on_error_stop => 1);
is($error =~ /ERROR.*/ ? $& : '', '', 'it is restored');
is($query->safe_psql('restored', q{SELECT * FROM shuttle.check()}), '', 'it fits the nodes');
is($query->safe_psql('restored', $_), value($_), "same answer: $_") for q{SELECT count(*), sum(n) FROM shop.customer}, sprintf($bounds, 'orders'), q{SELECT count(*) FROM shop.orders WHERE customer_id = 7};
value('DROP DATABASE restored WITH (FORCE)');

# ---- under writers
$splits->{writers}->start(20);
for my $split ([ 'shop.log_t1', 'node1' ], [ 'shop.customer_t2', 'node3' ], [ 'shop.orders_t15', 'node2' ])
{
	is($splits->call('split_tablet', @$split), '', "$split->[0] is split under writers");
}
my ($done, $errors) = $splits->{writers}->end;
is($errors, '', 'no writer had an error');
cmp_ok($done, '>', 50, 'they wrote');
is(value('SELECT sum(n) FROM shop.customer'), 2000 + $done, 'each row that was acknowledged is there, and no other');
is($splits->layout, '0/8 node2, 1/8 node1, 2/8 node3, 3/8 node3, 4/8 node3, 5/8 node1, 6/8 node3, 7/16 node1, 15/32 node2, 31/32 node2', 'all are split');
$splits->all_fits('under writers');
like($splits->call('drain_node', 'node2'), qr/^(?!.*ERROR)/s, 'a node is drained of halves');
is(value(q{SELECT count(*) FROM shuttle.tablets WHERE node = 'node2'}), '0', 'all have left it');
$splits->all_fits('drained');

# ---- what is refused
my $before = $splits->layout;
value(q{CREATE DOMAIN shop.code AS text; CREATE TABLE shop.coded (code shop.code PRIMARY KEY); SELECT shuttle.distribute_table('shop.coded', 'code', 2, nodes => '{node1}');
	CREATE TABLE shop.far (id int); SELECT shuttle.distribute_table('shop.far', 'id', 1, nodes => '{node1}')});
value(q{SET shuttle.enable_ddl = off; ALTER TABLE shop.far DETACH PARTITION shuttle_tablets.far_t0; ALTER TABLE shop.far ATTACH PARTITION shuttle_tablets.far_t0 FOR VALUES WITH (MODULUS 65536, REMAINDER 0)});
$nodes[1]->safe_psql('postgres', q{CREATE TABLE shop.log_t8_} . name_count('log') . ' (i int)');
for my $case ([ 'shop.orders_t1', 'node1', qr/cannot be split.*on storage node "node1".*HINT/s ], [ 'shop.orders', 'node1', qr/not a tablet/ ],
	[ 'shop.orders_t0', 'node2', qr/cannot be split.*"node2" has another relation.*shop\.log_t8_\d+.*HINT/s ],
	[ 'shop.coded_t0', 'node2', qr/cannot be split.*not built in.*HINT/s ], [ 'shop.far_t0', 'node2', qr/cannot be split.*modulus of at most 65536.*HINT/s ])
{
	like($splits->call('split_tablet', @$case[ 0, 1 ]), $case->[2], "refused: $case->[0] to $case->[1]");
}
(undef, undef, $error) = $query->psql('postgres', q{BEGIN; CALL shuttle.split_tablet('} . $splits->tablet('shop.orders_t1') . q{', 'node2')});
like($error, qr/transaction block/, 'refused in a transaction block');
(undef, undef, $error) = $query->psql('postgres', q{CREATE ROLE nobody; SET ROLE nobody; CALL shuttle.split_tablet('} . $splits->tablet('shop.orders_t1') . q{', 'node2')});
like($error, qr/permission denied/, 'refused to others');
value(q{DROP ROLE nobody; DROP TABLE shop.coded; SET shuttle.enable_ddl = off; DROP TABLE shop.far});
$nodes[1]->safe_psql('postgres', q{DROP TABLE shop.log_t8_} . name_count('log') . q{; DROP TABLE IF EXISTS shop.far});
$nodes[0]->safe_psql('postgres', q{DROP TABLE IF EXISTS shop.far});
is($splits->layout, $before, 'nothing was split');
$splits->all_fits('refused');

# ---- what other sessions do meanwhile
SKIP:
{
	skip 'the server has no points to stop at', 1 unless defined $points;
	my $session = ShuttleSession->new($query, 'postgres');
	$points->arm('move-copied');
	$session->send(q{CALL shuttle.split_tablet('} . $splits->tablet('shop.orders_t0') . q{', 'node2');});
	ok($points->reached('move-copied', $session->pid), 'the rows are copied');
	(undef, undef, $error) = $query->psql('postgres', q{SET lock_timeout = 100; TRUNCATE shop.log});
	like($error, qr/lock timeout/, 'a TRUNCATE here waits');
	my $truncated = $splits->tablet('shop.log_t0');
	my ($node) = grep { $_->safe_psql('postgres', qq{SELECT to_regclass('$truncated') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_subscription)}) eq 't' } @nodes;
	$node->safe_psql('postgres', qq{CREATE TABLE kept AS TABLE $truncated; TRUNCATE $truncated; INSERT INTO $truncated TABLE kept; DROP TABLE kept});
	$points->release('move-copied');
	(undef, $error) = $session->result;
	like($error, qr/truncated, or written anew/, 'one by another server is noticed');
	$splits->all_fits('truncated');

	# the end of a split locks tablets that have no key; whoever has read them and waits for the split goes first
	my $other = ShuttleSession->new($query, 'postgres');
	my ($number, $from) = $splits->layout =~ m{(\d+)/\d+ (node\d)};
	my ($to) = grep { $_ ne $from } 'node1', 'node3';
	is($splits->call('move_tablet', 'shop.orders_t1', $from), '', 'a tablet is beside it');
	$points->arm('move-done');
	$session->send('CALL shuttle.split_tablet(' . "'" . $splits->tablet("shop.orders_t$number") . "', '$to');");
	ok($points->reached('move-done', $session->pid), 'the halves have changed places');
	$other->run('BEGIN; SELECT count(*) FROM shop.log;');
	$other->send('ALTER TABLE shop.log ADD COLUMN more int; COMMIT;');
	ok(ShuttleSession->new($query, 'postgres')->poll('SELECT cardinality(pg_blocking_pids(' . $other->pid . ')) > 0'), 'DDL waits behind a read');
	$points->release('move-done');
	is(($other->result)[1], '', 'it goes on');
	is(($session->result)[1], '', 'and the split, too');
	$splits->all_fits('DDL at the end');

	# writers wait behind DDL, which waits for the split, which waits for what they have read before
	$points->arm('move-copied');
	$session->send('CALL shuttle.split_tablet(' . "'" . $splits->tablet('shop.orders_t1') . "', '$to');");
	ok($points->reached('move-copied', $session->pid), 'the rows are copied once more');
	my $ddl = ShuttleSession->new($query, 'postgres');
	$_->run(q{SET deadlock_timeout = '10min';}) for $other, $ddl;	# the split looks first, on a slow machine, too
	$other->run('BEGIN; SELECT count(*) FROM shop.log;');
	$ddl->send('ALTER TABLE shop.customer ADD COLUMN more int;');
	ok($kept->poll('SELECT cardinality(pg_blocking_pids(' . $ddl->pid . ')) > 0'), 'DDL waits for the split');
	$other->send('SELECT count(*) FROM shop.customer; COMMIT;');
	ok($kept->poll('SELECT cardinality(pg_blocking_pids(' . $other->pid . ')) > 0'), 'a transaction that has read another table waits behind it');
	$points->release('move-copied');
	(undef, $error) = $session->result;
	like($error, qr/40P01|cannot be moved because of session/, 'the split ends, as all would wait for ever');
	is(($ddl->result)[1] . ($other->result)[1], '', 'the others go on');
	$_->quit for $other, $ddl;
	$splits->all_fits('DDL before a transaction');
	$session->quit;
}
$kept->quit;
$splits->{cluster}->stop;
done_testing();
