# shuttle.add_node() and what it says of a node: rows with hints for what makes statements fail
# later, an error for what would give wrong answers or commits that fail.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

sub start
{
	my ($name, $settings) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);

	$server->init(extra => [ '--encoding', 'UTF8', '--locale', 'C' ]);
	$server->append_conf('postgresql.conf', $settings);
	$server->start;
	return $server;
}

my $query = start('query', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5");
my $far = start('far', 'max_prepared_transactions = 0');
my $place = sprintf q{'%s', %d}, $far->host, $far->port;
my $options = sprintf q{host '%s', port '%d'}, $far->host, $far->port;

# The database has another locale than its server; its tables need extensions.
$query->safe_psql('postgres', q{CREATE DATABASE shop TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'});
$query->safe_psql('shop', q{
	CREATE EXTENSION pg_shuttle CASCADE; CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION pg_trgm;
	CREATE EXTENSION btree_gist; CREATE EXTENSION seg;
	CREATE SCHEMA sales; CREATE SCHEMA empty;
	CREATE TABLE person (id int PRIMARY KEY, name citext);
	CREATE TABLE sales.item (id int PRIMARY KEY, note text, extra hstore);
	CREATE INDEX ON sales.item USING gin (note gin_trgm_ops);
	CREATE VIEW segments AS SELECT '1'::seg;
});
$far->safe_psql('postgres', q{CREATE ROLE keeper LOGIN PASSWORD 'secret' CREATEDB; CREATE ROLE guest LOGIN});

sub adds
{
	my ($call) = @_;

	return $query->safe_psql('shop', "SELECT * FROM shuttle.$call WHERE subject <> 'version'");
}

# Fails with that detail and hint, and leaves no server.
sub refuses
{
	my ($call, $detail, $name) = @_;
	my ($code, undef, $error) = $query->psql('shop', "SELECT shuttle.$call");

	isnt($code, 0, "$name is refused");
	like($error, qr/cannot be a storage node\nDETAIL:  $detail\nHINT:  \w/, "$name: why");
	is($query->safe_psql('shop', q{SELECT count(*) FROM shuttle.storage_nodes}), '0', "$name: no node is left");
	return;
}

# ---- what is refused

my $keeper = q{user_name => 'keeper', password => 'secret'};
my $two_phase = qr/Its setting "max_prepared_transactions" is 0, so it cannot take part in a commit over several nodes\./;
refuses("add_node('n1', $place, $keeper, create_database => true)", $two_phase, 'a node that prepares nothing');
is($far->safe_psql('postgres', q{SELECT datcollate, datctype FROM pg_database WHERE datname = 'shop'}), 'C.UTF-8|C.UTF-8', 'its database stays, with our locale');
$far->append_conf('postgresql.conf', 'max_prepared_transactions = 5');
$far->restart;
refuses("add_node('n1', $place, 'guest')", qr/The remote user may not create schemas in its database\./, 'a role without rights');
$far->safe_psql('postgres', 'ALTER DATABASE shop SET constraint_exclusion = off');
refuses("add_node('n1', $place, 'keeper')", qr/Its setting "constraint_exclusion" is off\./, 'constraint_exclusion');
$far->safe_psql('postgres', 'ALTER DATABASE shop RESET constraint_exclusion');
$far->safe_psql('postgres', q{CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'});
$query->safe_psql('shop', "CREATE SERVER latin FOREIGN DATA WRAPPER shuttle OPTIONS ($options, dbname 'latin'); CREATE USER MAPPING FOR PUBLIC SERVER latin OPTIONS (user 'keeper')");
refuses("use_node('latin')", qr/Its database has the encoding LATIN1, this one has UTF8\./, 'an encoding');

# ---- what is told

is(adds("add_node('n1', $place, $keeper, create_database => true, tags => '{fast}')"), join("\n",
		'database|exists|', 'encoding|ok|', 'prepared transactions|ok|', 'privileges|ok|', 'collation|C.UTF-8|',
		map { "extension $_|missing|Run CREATE EXTENSION $_ on the node, before tables that need it are distributed." } qw(citext hstore pg_trgm)),
	'a node without extensions');
is($query->safe_psql('shop', 'SELECT node, database, tags, tablets FROM shuttle.storage_nodes'), 'n1|shop|{fast}|0', 'it is a node');
my (undef, undef, $error) = $query->psql('shop', q{SELECT shuttle.distribute_table('person', 'id')});
like($error, qr/citext.*does not exist/, 'without its extension the table is refused');
$far->safe_psql('shop', q{CREATE EXTENSION citext; CREATE EXTENSION pg_trgm; CREATE EXTENSION hstore VERSION '1.7'; CREATE SCHEMA sales; CREATE SCHEMA empty});
my $hstore = $query->safe_psql('shop', q{SELECT extversion FROM pg_extension WHERE extname = 'hstore'});
$query->safe_psql('shop', q{SELECT shuttle.remove_node('n1')});
is(adds("add_node('n1', $place, $keeper)"), join("\n",
		'encoding|ok|', 'prepared transactions|ok|', 'privileges|ok|', 'collation|C.UTF-8|',
		$hstore eq '1.7' ? () : "extension hstore|1.7, here $hstore|Bring it to one version with ALTER EXTENSION hstore UPDATE.",
		'schema sales|closed|Run GRANT CREATE ON SCHEMA sales TO keeper on the node, before its tables are distributed.'),
	'schemas of others');
$far->safe_psql('shop', 'GRANT CREATE, USAGE ON SCHEMA sales TO keeper; ALTER EXTENSION hstore UPDATE');
$far->safe_psql('postgres', q{CREATE DATABASE other TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'});
$query->safe_psql('shop', "CREATE SERVER n2 FOREIGN DATA WRAPPER shuttle OPTIONS ($options, dbname 'other'); CREATE USER MAPPING FOR PUBLIC SERVER n2 OPTIONS (user 'keeper')");
$far->safe_psql('postgres', 'GRANT CREATE ON DATABASE other TO keeper');
$far->safe_psql('postgres', 'GRANT pg_execute_server_program TO keeper');
$far->safe_psql('other', "CREATE EXTENSION $_") for qw(citext hstore pg_trgm);
$far->safe_psql('other', 'GRANT CREATE ON SCHEMA public TO keeper');
is(adds(q{use_node('n2', '{slow}')}), join("\n",
		'encoding|ok|', 'prepared transactions|ok|',
		'privileges|runs programs|Only superusers may bring functions there. Map PUBLIC to a role that only owns the tables.',
		'collation|C|Text is sorted on the query node, as its collation is C.UTF-8; make both databases with one collation, or give columns COLLATE "C".'),
	'a collation, and a remote user who can do more than it needs');

# ---- databases that CREATE DATABASE reaches nodes by, whose user makes nothing in them
$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
my $verdicts = $query->safe_psql('postgres', "SELECT subject, verdict, hint FROM shuttle.add_node('maker', $place, $keeper)");
like($verdicts, qr/^schemas\|closed\|The remote user may create databases on the node\. Grant it CREATE/m, 'a user who may only make databases');
is($query->safe_psql('postgres', 'SELECT database FROM shuttle.storage_nodes'), 'postgres', 'and is a node');
(undef, undef, $error) = $query->psql('postgres', q{CREATE TABLE t (id int PRIMARY KEY); SELECT shuttle.distribute_table('t', 'id')});
like($error, qr/permission denied/, 'without tables');
$query->safe_psql('postgres', q{SELECT shuttle.remove_node('maker'); DROP EXTENSION pg_shuttle CASCADE});

# ---- and they hold tables
$query->safe_psql('shop', q{INSERT INTO person SELECT i, 'p' || i FROM generate_series(1, 20) AS i;
	SELECT shuttle.distribute_table('person', 'id', nodes => '{n1, n2}'); SELECT shuttle.distribute_table('sales.item', 'id', nodes => '{n1}')});
is($query->safe_psql('shop', q{SELECT count(*) FROM person WHERE name = 'P7'; SELECT * FROM shuttle.check()}), '1', 'a table');
(undef, undef, $error) = $query->psql('shop', q{SELECT shuttle.remove_node('n1')});
like($error, qr/storage node "n1" has tables/, 'a node with tables stays');
$query->safe_psql('shop', q{SELECT shuttle.local_table(t) FROM unnest('{person, sales.item}'::regclass[]) AS t; SELECT shuttle.remove_node(n) FROM unnest('{n1, n2}'::name[]) AS n});
is($query->safe_psql('shop', q{SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM shuttle.storage_nodes), (SELECT count(*) FROM pg_foreign_server WHERE srvname IN ('n1', 'n2'))}),
	'20|0|0', 'nodes go');
done_testing();
