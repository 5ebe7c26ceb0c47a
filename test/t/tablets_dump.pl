# A dump of the query node restores a second query node: over the same nodes, and
# over empty ones.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 20\nwal_level = replica");
$node->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $dir = $node->basedir;

# a database's query node over two databases as nodes
$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(shop n1 n2 same jobs empty);
$node->safe_psql('shop', 'CREATE EXTENSION pg_shuttle CASCADE');
for my $name (qw(n1 n2))
{
	$node->safe_psql('shop', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $node->host ]}', port '@{[ $node->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		SELECT shuttle.use_node('$name');
	});
}
$node->safe_psql('shop', q{
	CREATE TYPE state AS ENUM ('new', 'sent');
	CREATE TABLE kind (id int PRIMARY KEY, name text);
	CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL, at timestamptz CHECK (at::date > '2020-01-01'), mail text UNIQUE);
	CREATE TABLE orders (customer_id int REFERENCES customer, number int, kind_id int REFERENCES kind,
		state state DEFAULT 'new', total numeric CHECK (total > 0), PRIMARY KEY (customer_id, number));
	CREATE INDEX orders_total ON orders (total);
	CREATE VIEW totals AS SELECT customer_id, sum(total) FROM orders GROUP BY 1;
	INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(1, 9) AS i;
	INSERT INTO customer SELECT i, 'customer ' || i FROM generate_series(1, 100) AS i;
	UPDATE customer SET mail = 'mail ' || id WHERE id < 50;
	INSERT INTO orders SELECT i % 100 + 1, i, i % 9 + 1, 'new', i FROM generate_series(1, 1000) AS i;
	SELECT shuttle.reference_table('kind');
	SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 4);
});
my $rows = q{SELECT count(*), sum(total), sum(hashtext(o::text)), (SELECT count(*) FROM customer),
	(SELECT count(*) FROM kind), (SELECT count(*) FROM totals) FROM orders AS o};
my $expected = $node->safe_psql('shop', $rows);
my $triggers = q{SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname};
my $indexes = q{SELECT indexrelid::regclass, indisvalid, indislive FROM pg_index
	WHERE indrelid::regclass::text IN ('kind', 'orders', 'customer') ORDER BY indexrelid::regclass::text};

# 1: what is restored works
sub check_restored
{
	my ($database) = @_;

	is($node->safe_psql($database, 'SELECT * FROM shuttle.check()'), '', "$database: check");
	is($node->safe_psql($database, q{SELECT count(*) FROM pg_class WHERE relkind IN ('f', 'p') AND NOT relrowsecurity AND relnamespace::regnamespace::text ~ 'shuttle'}),
		0, "$database: statistics of tablets and entries are hidden");
	is($node->safe_psql($database, $_), $node->safe_psql('shop', $_), "$database: triggers and indexes") for $triggers, $indexes;
	my ($code, $out, $error) = $node->psql($database, "INSERT INTO customer VALUES (2000, 'early', '2019-01-01')");
	like($error, qr/violates check constraint "customer_at_check"/, "$database: a check that is computed here");
	$node->safe_psql($database, q{
		BEGIN;
		INSERT INTO kind VALUES (10, 'ten');
		INSERT INTO customer VALUES (1000, 'new');
		INSERT INTO orders VALUES (1000, 1, 10, 'sent', 5);
		ALTER TABLE orders ADD COLUMN note text DEFAULT 'none';
		CREATE INDEX ON orders (note);
		UPDATE orders SET note = 'some' WHERE customer_id = 1000;
		ROLLBACK;
		CREATE TABLE other (a bigint PRIMARY KEY);
		SELECT shuttle.distribute_table('other', 'a');
		DROP TABLE other;
	});
	is($node->safe_psql($database, 'SELECT * FROM shuttle.check()'), '', "$database: check after writes");
	my ($code, undef, $error) = $node->psql($database, "INSERT INTO customer VALUES (7, 'again')");
	like($error, qr/duplicate key/, "$database: primary key");
	(undef, undef, $error) = $node->psql($database, "INSERT INTO customer (id, name, mail) VALUES (3000, 'mail of another', 'mail 7')");
	like($error, qr/violates unique constraint "customer_mail_key"/, "$database: a unique key without the distribution column");
	return;
}

# over the same nodes
my $ddl_off = '-c shuttle.enable_ddl=off';
$node->command_ok([ 'pg_dump', '-f', "$dir/shop.sql", '-d', $node->connstr('shop') ], 'pg_dump');
$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/shop.dir", '-d', $node->connstr('shop') ], 'pg_dump -j');
{
	local $ENV{PGOPTIONS} = $ddl_off;
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/shop.sql", '-d', $node->connstr('same') ], 'psql');
	$node->command_ok([ 'pg_restore', '-e', '-j', '2', '-d', $node->connstr('jobs'), "$dir/shop.dir" ], 'pg_restore -j');
}
is($node->safe_psql($_, $rows), $expected, "$_: rows") for qw(same jobs);
check_restored($_) for qw(same jobs);

# rows of a distributed table
$node->command_ok([ 'pg_dump', '--data-only', '--include-foreign-data=*', '--load-via-partition-root', '-t', 'shuttle_tablets.customer_t*', '-t', 'shuttle_tablets.orders_t*',
		'-f', "$dir/rows.sql", '-d', $node->connstr('shop') ], 'pg_dump of rows');
$node->safe_psql('shop', 'TRUNCATE orders, customer');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/rows.sql", '-d', $node->connstr('shop') ], 'psql of rows');
is($node->safe_psql('shop', $rows), $expected, 'rows of a dump');

# over empty nodes
for my $name (qw(n1 n2))
{
	$node->safe_psql('postgres', "DROP DATABASE $name WITH (FORCE)");
	$node->safe_psql('postgres', "CREATE DATABASE $name");
}
{
	local $ENV{PGOPTIONS} = $ddl_off;
	$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/shop.sql", '-d', $node->connstr('empty') ], 'psql, empty nodes');
}
is($node->safe_psql('empty', 'SELECT relation, node, problem, repaired FROM shuttle.check(repair => true) ORDER BY relation::text, node'),
	join("\n", map { ("$_->[0]|n1|$_->[1]|t", "$_->[0]|n2|$_->[1]|t") }
		  [ 'customer', 'has no table; an empty one was made' ], [ 'kind', 'has no copy' ],
		[ 'orders', 'has no table; an empty one was made' ], [ 'shuttle_indexes.customer_mail_key_entries', 'has no table; an empty one was made' ]),
	'tables are made');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/rows.sql", '-d', $node->connstr('empty') ], 'psql of rows');
is($node->safe_psql('empty', $rows), $expected, 'empty: rows');
check_restored('empty');

done_testing();
