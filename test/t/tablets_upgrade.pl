# pg_upgrade of a query node with distributed tables; its nodes stay as they are.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# All installed servers that have the extension, as name=prefix.
my %prefix = map { split /=/, $_, 2 } split /:/, $ENV{SHUTTLE_SERVERS} // '';
my ($oldest, $newest) = (sort { $a <=> $b } keys %prefix)[ 0, -1 ];
plan skip_all => 'needs two servers of different versions'
	if keys %prefix < 2;
plan skip_all => "the tests on $newest do it"
	if `pg_config --version` !~ /PostgreSQL $newest\b/;

sub make_server
{
	my ($name, $version) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name, install_path => $prefix{$version});

	# as pg_upgrade wants them: alike
	$server->init(extra => [ '--no-locale', '-E', 'UTF8', $version >= 18 ? '--no-data-checksums' : () ]);
	$server->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 20");
	return $server;
}

my $nodes = make_server('nodes', $oldest);
my $old = make_server('old', $oldest);
my $new = make_server('new', $newest);
$_->start for $nodes, $old;
my $user = $old->safe_psql('postgres', 'SELECT current_user');

$old->safe_psql('postgres', 'CREATE DATABASE shop');
$old->safe_psql('shop', 'CREATE EXTENSION pg_shuttle CASCADE');
for my $name (qw(n1 n2))
{
	$nodes->safe_psql('postgres', "CREATE DATABASE $name");
	$old->safe_psql('shop', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $nodes->host ]}', port '@{[ $nodes->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		SELECT shuttle.use_node('$name');
	});
}
$old->safe_psql('shop', q{
	CREATE TYPE state AS ENUM ('new', 'sent');
	CREATE TABLE kind (id int PRIMARY KEY, name text);
	CREATE TABLE customer (id int PRIMARY KEY, gone int, name text NOT NULL);
	CREATE TABLE orders (customer_id int REFERENCES customer, number int, kind_id int REFERENCES kind,
		state state DEFAULT 'new', total numeric CHECK (total > 0), PRIMARY KEY (customer_id, number));
	CREATE INDEX orders_total ON orders (total);
	CREATE VIEW totals AS SELECT customer_id, sum(total) FROM orders GROUP BY 1;
	INSERT INTO kind SELECT i, 'kind ' || i FROM generate_series(1, 9) AS i;
	INSERT INTO customer SELECT i, NULL, 'customer ' || i FROM generate_series(1, 100) AS i;
	INSERT INTO orders SELECT i % 100 + 1, i, i % 9 + 1, 'new', i FROM generate_series(1, 1000) AS i;
	SELECT shuttle.reference_table('kind');
	SELECT shuttle.distribute_tables('{customer.id, orders.customer_id}', tablets => 4);
	ALTER TABLE customer DROP COLUMN gone;
	ALTER TABLE orders ADD COLUMN note text DEFAULT 'none';
});
my @facts = (
	'SELECT count(*), sum(total), sum(length(o::text)), count(DISTINCT note) FROM orders AS o',
	'SELECT count(*), sum(length(c::text)), (SELECT sum(sum) FROM totals) FROM customer AS c',
	'SELECT name, count(*) FROM orders JOIN kind ON id = kind_id GROUP BY 1 ORDER BY 1',
	'SELECT * FROM shuttle.tables ORDER BY relation::text',
	'SELECT tgrelid::regclass, tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgrelid::regclass::text, 2',
	"SELECT indexrelid::regclass, indisvalid FROM pg_index
		WHERE indrelid::regclass::text IN ('kind', 'orders', 'customer') ORDER BY indexrelid::regclass::text",
);
my @expected = map { $old->safe_psql('shop', $_) } @facts;

# Debian's 15 notes what newer servers do not know (docs/upgrades.md)
$old->safe_psql($_, q{
	SET allow_system_table_mods = on;
	UPDATE pg_attribute
	SET attoptions = nullif(ARRAY(SELECT o FROM unnest(attoptions) AS o WHERE o NOT LIKE 'pg_attver=%'), '{}')
	WHERE attrelid >= 16384 AND attoptions::text LIKE '%pg_attver=%';
}) for qw(postgres shop);
$old->stop;
command_ok([ 'pg_upgrade', '--no-sync', '-b', "$prefix{$oldest}/bin", '-B', "$prefix{$newest}/bin",
		'-d', $old->data_dir, '-D', $new->data_dir, '-p', $old->port, '-P', $new->port, '-s', $new->host, '-U', $user ],
	'pg_upgrade');
$new->start;

is($new->safe_psql('shop', 'SHOW server_version_num') >= $newest * 10000, 1, 'the new version');
$new->safe_psql('shop', 'SELECT shuttle.confirm_identity()');
is($new->safe_psql('shop', 'SELECT * FROM shuttle.check()'), '', 'check');
is($new->safe_psql('shop', $facts[$_]), $expected[$_], "fact $_") for keys @facts;

my $copies = q{SELECT count(*) FROM pg_class WHERE relkind = 'f' AND relnamespace = to_regnamespace('pg_shuttle_copies')};
$new->safe_psql('shop', 'SELECT FROM shuttle.check(repair => true)');
is($new->safe_psql('shop', $copies), '1', 'plans read copies on nodes again');

# what is done with tables
$new->safe_psql('shop', q{
	BEGIN;
	INSERT INTO kind VALUES (10, 'ten');
	INSERT INTO customer VALUES (1000, 'new');
	INSERT INTO orders VALUES (1000, 1, 10, 'sent', 5);
	UPDATE orders SET total = total + 1 WHERE customer_id <= 10;
	COMMIT;
	ALTER TABLE orders ADD COLUMN more int DEFAULT 7;
	CREATE INDEX orders_more ON orders (more);
	ALTER TABLE kind ADD COLUMN weight int DEFAULT 3;
	CREATE TABLE other (a bigint PRIMARY KEY);
	INSERT INTO other SELECT generate_series(1, 20);
	SELECT shuttle.distribute_table('other', 'a');
});
is($new->safe_psql('shop', 'SELECT count(*), sum(total), sum(more), sum(weight) FROM orders JOIN kind ON id = kind_id'),
	'1001|500605|7007|3003', 'writes and DDL');
my ($code, undef, $error) = $new->psql('shop', "INSERT INTO customer VALUES (7, 'again')");
like($error, qr/duplicate key/, 'primary key');
($code, undef, $error) = $new->psql('shop', 'INSERT INTO orders VALUES (7, 5000, 77)');
like($error, qr/violates foreign key/, 'foreign key');
is($new->safe_psql('shop', 'SELECT * FROM shuttle.check()'), '', 'check after writes');
is($nodes->safe_psql($_, 'SELECT count(*) FROM pg_prepared_xacts'), '0', "$_: nothing is left prepared") for qw(n1 n2);

# and back
$new->safe_psql('shop', q{SELECT shuttle.local_tables('{customer, orders, other}'); SELECT shuttle.local_table('kind')});
is($new->safe_psql('shop', 'SELECT count(*), sum(total) FROM orders'), '1001|500605', 'local again');

done_testing();
