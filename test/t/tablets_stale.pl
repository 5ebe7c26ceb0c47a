# Whoever reads by older catalogs gets the right rows or an error, never fewer: a standby whose replay is paused, and a
# restored dump; by statements of all kinds, also prepared before; after all that changes tables or where they lie.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleSession;

my $far = PostgreSQL::Test::Cluster->new('far');
$far->init;
$far->append_conf('postgresql.conf', "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_worker_processes = 20\nmax_logical_replication_workers = 10\nmax_prepared_transactions = 50\nwal_retrieve_retry_interval = 200ms\nmax_locks_per_transaction = 1000");
$far->start;
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5\nhot_standby_feedback = on\nmax_locks_per_transaction = 1000\nautovacuum = off");
$primary->start;
my $user = $primary->safe_psql('postgres', 'SELECT current_user');
sub on_primary { return $primary->safe_psql('postgres', $_[0]); }

on_primary('CREATE EXTENSION pg_shuttle CASCADE');
for my $name ('n1', 'n2', 'n3')
{
	$far->safe_psql('postgres', "CREATE DATABASE $name");
	on_primary(qq{CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far->host ]}', port '@{[ $far->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user'); SELECT shuttle.use_node('$name')});
}

sub tablet { return on_primary("SELECT min(tablet::text) FROM shuttle.tablets WHERE relation = '$_[0].customer'::regclass AND node = 'n1'"); }
sub anew
{
	my ($s, $tablets) = @_;
	return "CREATE TABLE $s.customer (id int PRIMARY KEY, n int); INSERT INTO $s.customer SELECT i, i FROM generate_series(1, 200) AS i; SELECT shuttle.distribute_table('$s.customer', 'id', $tablets);";
}

# Each has a schema of its own; with functions in the group, nodes have traps.
my %change = (
	move => sub { "CALL shuttle.move_tablet('" . tablet($_[0]) . "', 'n2')" },
	there_and_back => sub { my $t = tablet($_[0]); "CALL shuttle.move_tablet('$t', 'n2'); CALL shuttle.move_tablet('$t', 'n3'); CALL shuttle.move_tablet('$t', 'n1')" },
	split => sub { "CALL shuttle.split_tablet('" . tablet($_[0]) . "', 'n3')" },
	distributed_anew => sub { "SELECT shuttle.local_tables('{$_[0].customer,$_[0].orders}'); SELECT shuttle.distribute_tables('{$_[0].customer.id,$_[0].orders.customer_id}', " . ($_[0] =~ /^f/ ? 2 : 3) . ')' },
	made_anew => sub { "DROP TABLE $_[0].orders, $_[0].customer; " . anew($_[0], 2) },
	brought_back => sub { "SELECT shuttle.local_tables('{$_[0].customer,$_[0].orders}')" },
	dropped => sub { "DROP TABLE $_[0].orders, $_[0].customer" },
	renamed => sub { "ALTER TABLE $_[0].customer RENAME TO client" },
	replaced => sub { "ALTER TABLE $_[0].customer RENAME TO client; " . anew($_[0], 3) . " ALTER TABLE $_[0].orders RENAME TO gone" },
	swapped => sub { "ALTER TABLE $_[0].customer RENAME TO t; ALTER TABLE $_[0].orders RENAME TO customer; ALTER TABLE $_[0].t RENAME TO orders" },
	schemas => sub { "ALTER SCHEMA $_[0] RENAME TO $_[0]_old; CREATE SCHEMA $_[0]; " . anew($_[0], 3) },
	type => sub { "ALTER TABLE $_[0].customer ALTER n TYPE bigint; ALTER TABLE $_[0].orders ALTER v TYPE bigint" },
	generated => sub { "ALTER TABLE $_[0].customer ADD COLUMN g int GENERATED ALWAYS AS (n + 1) STORED" },
	column => sub { "ALTER TABLE $_[0].customer ADD COLUMN d int DEFAULT 9; ALTER TABLE $_[0].customer DROP COLUMN n" },
	truncated => sub { "TRUNCATE $_[0].orders" },
	referred => sub { "INSERT INTO $_[0].region VALUES (9); INSERT INTO $_[0].customer VALUES (201, 1); INSERT INTO $_[0].orders SELECT 201, i, 1, 9 FROM generate_series(1, 10) AS i" },
);
my @cases = ((map { "p_$_" } qw(move split distributed_anew schemas brought_back dropped renamed column)),
	(map { "f_$_" } qw(move there_and_back split distributed_anew made_anew replaced swapped type generated truncated referred)));

on_primary('CREATE TABLE keys AS SELECT i AS id FROM generate_series(1, 201) AS i; ANALYZE keys');
my $ntablets = 4;
for my $s (@cases)
{
	my $n = $s =~ /move|back|split/ ? $ntablets++ : $s =~ /^f/ ? 3 : 2;	# a group of its own, where it moves
	on_primary(qq{CREATE SCHEMA $s;
		CREATE TABLE $s.customer (id int PRIMARY KEY, n int);
		CREATE TABLE $s.region (gone int, id int PRIMARY KEY); ALTER TABLE $s.region DROP COLUMN gone;
		CREATE TABLE $s.orders (customer_id int, id int, v int, region int, PRIMARY KEY (customer_id, id));
		INSERT INTO $s.region SELECT generate_series(0, 4);
		INSERT INTO $s.customer SELECT i, i FROM generate_series(1, 200) AS i;
		INSERT INTO $s.orders SELECT i % 200 + 1, i, i, i % 5 FROM generate_series(1, 2000) AS i;
		SELECT shuttle.reference_table('$s.region');
		SELECT shuttle.distribute_tables('{$s.customer.id,$s.orders.customer_id}', $n);
		CREATE FUNCTION $s.placed() RETURNS SETOF int LANGUAGE sql STABLE AS \$\$SELECT r.id FROM $s.orders AS o JOIN $s.region AS r ON r.id = o.region\$\$;
		CREATE FUNCTION $s.regions() RETURNS SETOF int LANGUAGE sql STABLE BEGIN ATOMIC SELECT id FROM $s.region; END;
		CREATE FUNCTION $s.known(r int) RETURNS int LANGUAGE plpgsql STABLE AS \$\$BEGIN RETURN (SELECT id FROM $s.region WHERE id = r); END\$\$;
		CREATE FUNCTION $s.total(c int) RETURNS bigint LANGUAGE plpgsql STABLE AS \$\$BEGIN RETURN (SELECT count(*) FROM $s.orders WHERE customer_id = c); END\$\$;
		CREATE FUNCTION $s.pay(c int, a int) RETURNS int LANGUAGE plpgsql AS \$\$DECLARE r int; BEGIN UPDATE $s.customer SET n = n + a WHERE id = c RETURNING id INTO r; RETURN r; END\$\$;});
	on_primary("SELECT shuttle.distribute_function('$s.total(int)', 'c', '$s.orders'), shuttle.distribute_function('$s.pay(int, int)', 'c', '$s.customer')") if $s =~ /^f/;
}

# A key of a tablet that moves and is split: it is on n1.
my %key = map { my $s = $_; $s => on_primary("SELECT min(c.id) FROM $s.customer AS c JOIN pg_class AS t ON t.oid = c.tableoid WHERE t.oid = '" . tablet($s) . "'::regclass") } @cases;
my %other_key = map { my $s = $_; $s => on_primary("SELECT max(c.id) FROM $s.customer AS c JOIN pg_class AS t ON t.oid = c.tableoid WHERE t.oid = '" . tablet($s) . "'::regclass") } @cases;
my %select = (
	scan => 'SELECT count(*) FROM S.customer', rows => 'SELECT sum(id) FROM (SELECT id FROM S.customer OFFSET 0) AS c', routed => 'SELECT count(*) FROM S.customer WHERE id = K',
	routed_orders => 'SELECT count(*) FROM S.orders WHERE customer_id = K', two_keys => 'SELECT count(*) FROM S.orders AS o, S.customer AS c WHERE o.customer_id = K AND c.id = L',
	both => 'SELECT (SELECT count(*) FROM S.customer WHERE id = K), (SELECT count(*) FROM S.orders WHERE customer_id = K)',
	keyed => 'SELECT count(c.id) FROM keys AS k LEFT JOIN LATERAL (SELECT id FROM S.customer WHERE id = k.id LIMIT 1) AS c ON true',
	join => 'SELECT count(*) FROM S.customer AS c JOIN S.orders AS o ON o.customer_id = c.id',
	one_customer => 'SELECT count(*) FROM S.customer AS c JOIN S.orders AS o ON o.customer_id = c.id WHERE c.id = K',
	region => 'SELECT count(*) FROM S.orders AS o JOIN S.region AS r ON r.id = o.region', left => 'SELECT count(r.id) FROM S.orders AS o LEFT JOIN S.region AS r ON r.id = o.region',
	region_of_one => 'SELECT count(r) FROM S.orders AS o JOIN S.region AS r ON r.id = o.region WHERE o.customer_id = K',
	inlined => 'SELECT count(*) FROM S.placed()', inlined_beside => 'SELECT count(*) FROM S.orders AS o JOIN S.regions() AS r ON r = o.region',
	looked_up => 'SELECT count(S.known(region)) FROM S.orders WHERE v = 1', call => 'SELECT S.total(K)',
);

# All answers of a session, each a line; errors are their SQLSTATE.
sub statements
{
	my ($s, $prepared) = @_;
	my %all;
	for my $shape (keys %select)
	{
		(my $sql = $select{$shape}) =~ s/\bS\./$s./g;
		$sql =~ s/\bK\b/$key{$s}/g;
		$sql =~ s/\bL\b/$other_key{$s}/g;
		$all{$shape} = "$sql;";
		$all{"cursor_$shape"} = "BEGIN; DECLARE c CURSOR FOR $sql; FETCH ALL FROM c; COMMIT;" if $shape =~ /^(rows|routed|join|region)$/;
		$all{"prepared_$shape"} = "EXECUTE ${s}_$shape;" if $prepared;
	}
	return \%all;
}

sub answers
{
	my ($session, $s, $prepared) = @_;
	my %answer;
	my $all = statements($s, $prepared);
	for my $shape (sort keys %$all)
	{
		my ($out, $err) = $session->run($all->{$shape});
		$answer{$shape} = $err =~ /ERROR:  (\w{5})/ ? $1 : $out;
		$session->run('ROLLBACK;') if $err ne '' && $shape =~ /^cursor/;
	}
	return \%answer;
}

sub prepare
{
	my ($session) = @_;
	$session->run('SET plan_cache_mode = force_generic_plan;');
	for my $s (@cases)
	{
		my $all = statements($s, 0);
		$session->run("PREPARE ${s}_$_ AS $all->{$_} EXECUTE ${s}_$_;") for keys %select;
	}
	return;
}

# Answers that are neither those before the change, nor those after it, nor errors that say so.
sub wrong
{
	my ($session, $before, $after, $error) = @_;
	my @wrong;
	my $nright = 0;
	for my $s (@cases)
	{
		my $answers = answers($session, $s, 1);
		for my $shape (sort keys %$answers)
		{
			my $answer = $answers->{$shape};
			(my $plain = $shape) =~ s/^(prepared|cursor)_//;
			if ($answer eq $before->{$s}{$plain} || $answer eq $after->{$s}{$plain}) { $nright++; }
			elsif ($answer !~ $error) { push @wrong, "$s $shape: $answer for $before->{$s}{$plain} or $after->{$s}{$plain}"; }
		}
	}
	return ($nright, join("\n", @wrong));
}

my %before = map { $_ => answers(ShuttleSession->new($primary, 'postgres'), $_, 0) } @cases;

# ---- a standby, and a dump that is restored
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $dump = "$PostgreSQL::Test::Utils::tmp_check/stale.sql";
$primary->command_ok([ 'pg_dump', '-d', $primary->connstr('postgres'), '-f', $dump ], 'pg_dump');
on_primary('CREATE DATABASE second');
$primary->psql('second', "SET shuttle.enable_ddl = off;\n\\i $dump");
$primary->safe_psql('second', 'SELECT * FROM shuttle.check(repair => true)');
$primary->wait_for_catchup($standby, 'replay');
my $reader = ShuttleSession->new($standby, 'postgres');
my $second = ShuttleSession->new($primary, 'second');
for my $session ($reader, $second)
{
	prepare($session);
	my ($nright, $wrong) = wrong($session, \%before, \%before, qr/^$/);
	is($wrong, '', 'before all changes answers are the same');
}
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_pause()');
$standby->poll_query_until('postgres', q{SELECT pg_get_wal_replay_pause_state() = 'paused'});
for my $s (@cases)
{
	my ($sql) = map { $change{$_}->($s) } substr($s, 2);
	on_primary($_) for $sql =~ /^CALL/ ? split(/; /, $sql) : $sql;
}
my $fresh = ShuttleSession->new($primary, 'postgres');
my %after = map { $_ => answers($fresh, $_, 0) } @cases;
for my $case ([ $reader, 'standby', qr/^40001$/ ], [ $second, 'dump', qr/^(42P01|42703|42804)$/ ])
{
	my ($nright, $wrong) = wrong($case->[0], \%before, \%after, $case->[2]);
	is($wrong, '', "$case->[1]: right rows or an error");
	cmp_ok($nright, '>', 100, 'and not all are errors');
}
my (undef, $error) = $reader->run('SELECT count(*) FROM p_move.customer;');
like($error, qr/ERROR:  40001: a table has been changed on the primary server\nDETAIL:.*\nHINT:  Repeat the transaction when this standby has caught up/, 'the error says what to do');
my $referred = answers($reader, 'f_referred', 1);
my @old = grep { (my $plain = $_) =~ s/^(prepared|cursor)_//; $referred->{$_} ne $after{f_referred}{$plain} } sort keys %$referred;
is("@old", '', 'reference tables are read as they are on nodes');
is(($reader->run('SELECT count(*) FROM f_referred.region;'))[0], '6', 'also alone');

# ---- writes: here they are on the dump, a standby has none
(undef, $error) = $reader->run('UPDATE f_type.customer SET n = 0;');
like($error, qr/ERROR:  25006/, 'a standby does not write');
my @lost;
for my $s (grep { !/truncated|column|referred/ } @cases)
{
	for my $write ("UPDATE $s.customer SET n = n + 1 WHERE id = $key{$s} RETURNING id", "DELETE FROM $s.orders WHERE customer_id = $key{$s} AND id < 0 RETURNING 1",
		"SELECT id FROM $s.customer WHERE id = $key{$s} FOR UPDATE", "SELECT $s.pay($key{$s}, 1)", "INSERT INTO $s.customer VALUES ($key{$s}, 1)")
	{
		my ($out, $err) = $second->run("$write;");
		push @lost, "$write: no error" if $err eq '' && $out ne $key{$s} && $write !~ /^DELETE/;
	}
}
is(join("\n", @lost), '', 'dump: a write finds its row or fails');

# ---- the standby has caught up
$standby->safe_psql('postgres', 'SELECT pg_wal_replay_resume()');
$primary->wait_for_catchup($standby, 'replay');
my $new = ShuttleSession->new($standby, 'postgres');
my @differ = map { my ($s, $there) = ($_, answers($new, $_, 0)); map { "$s $_: $there->{$_} for $after{$s}{$_}" } grep { $there->{$_} ne $after{$s}{$_} } sort keys %$there } @cases;
is(join("\n", grep { !/pay/ } @differ), '', 'then it answers as the primary server');

# ---- readers that wait on a node for a statement that writes the rows anew
on_primary('CREATE SCHEMA w; ' . anew('w', 4));
$primary->wait_for_catchup($standby, 'replay');
my $writer = ShuttleSession->new($primary, 'postgres');
my @few;
$new->run('PREPARE w AS SELECT count(*) FROM w.customer;');
for my $round (0 .. 11)
{
	my ($delay_ms, $type) = ((0, 50, 300)[ $round % 3 ], $round % 2 ? 'int' : 'bigint');
	my $in_block = $round < 6;
	$writer->run("BEGIN; ALTER TABLE w.customer ALTER n TYPE $type;") if $in_block;
	$writer->send("ALTER TABLE w.customer ALTER n TYPE $type;") if !$in_block;
	usleep(1000 * $delay_ms);
	$new->send($round % 2 ? 'EXECUTE w;' : 'SELECT count(*) FROM w.customer;');
	usleep(100_000) if $in_block;
	$in_block ? $writer->run('COMMIT;') : $writer->result;
	my ($out, $err) = $new->result;
	push @few, "round $round: $out$err" unless $out eq '200' || $err =~ /ERROR:  40001/;
	$primary->wait_for_catchup($standby, 'replay');
}
is(join("\n", @few), '', 'they see all rows, or an error');
is(($new->run('EXECUTE w;'))[0], '200', 'and all rows later');

# ---- reference tables whose copies cannot be read, and plans that were made before a promotion
on_primary('CREATE TABLE w.kind (id int PRIMARY KEY); INSERT INTO w.kind SELECT generate_series(1, 200); SELECT shuttle.reference_table(\'w.kind\'); CREATE VIEW w.kinds AS SELECT id AS kind FROM w.kind');
$primary->wait_for_catchup($standby, 'replay');
is(($new->run('PREPARE kinds AS SELECT count(*) FROM w.kinds JOIN w.customer ON kind = id; EXECUTE kinds; SELECT count(*) FROM w.kinds;'))[0], "200\n200", 'views of reference tables are read, too');
for my $what ([ 'k.id', 'TABLESAMPLE SYSTEM (100)', 'other samples' ], [ 'k.xmin', '', 'other system columns' ])
{
	my ($column, $sample, $detail) = @$what;
	is(($new->run("SELECT count($column) FROM w.kind AS k $sample;"))[0], '200', "$detail: alone the table is read here");
	like(($new->run("SELECT count($column) FROM w.kind AS k $sample JOIN w.customer AS c ON c.id = k.id;"))[1],
		qr/ERROR:  0A000: cannot read reference table "kind" beside distributed tables on a standby\nDETAIL:  Its copies on storage nodes have $detail/, 'beside distributed tables it is refused');
}
$primary->stop;
$standby->promote;
is(($new->run('BEGIN ISOLATION LEVEL REPEATABLE READ; EXECUTE kinds; COMMIT;'))[0], '200', 'promoted: copies are not read in one snapshot');
$standby->stop;
$far->stop;
done_testing();
