# Values that travel in binary between servers of different major versions are
# those of their texts, whichever side is the newer one.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# All installed servers that have the extension, as name=prefix.
my %prefix = map { split /=/, $_, 2 } split /:/, $ENV{SHUTTLE_SERVERS} // '';
plan skip_all => 'needs two servers of different versions'
	if keys %prefix < 2;

my %server;
for my $name (sort keys %prefix)
{
	my $node = PostgreSQL::Test::Cluster->new("server_$name", install_path => $prefix{$name});
	$node->init;
	$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'");
	$node->start;
	$server{$name} = $node;
}

# Types, with values that are special, or that not all versions print alike.
my %values = (
	bool => [ 't', 'f' ],
	int4 => [ '0', '-2147483648' ],
	int8 => [ '-1', '9223372036854775807' ],
	float4 => [ '0.1', '-0', 'NaN', 'Infinity' ],
	float8 => [ '0.30000000000000004', '-0', 'NaN', '-Infinity', '5e-324' ],
	numeric => [ '0.00', '-1.50', 'NaN', 'Infinity', '-Infinity', '1e100', '1e-100' ],
	date => [ '2024-02-29', '0001-12-31 BC', 'infinity', '-infinity' ],
	time => [ '24:00', '12:34:56.000001' ],
	timetz => [ '12:34:56.7+05:30' ],
	timestamp => [ '2024-02-29 23:59:59.9', '4714-11-24 00:00:00 BC', '-infinity' ],
	timestamptz => [ '1883-11-18 12:00+00', '0001-12-31 23:59:59+00 BC', 'infinity' ],
	interval => [ '-1 mon -2 days -03:04:05.678901', '178000000 years' ],
	text => [ '', "it's", 'äöü €' ],
	bpchar => [ 'a  ' ],
	bytea => [ '', '\xdeadbeef' ],
	uuid => [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' ],
	varbit => [ '', '1010101' ],
	json => [ '{"a": 1.0}' ],
	jsonb => [ '{"a": [1.00, null]}' ],
	inet => [ '10.0.0.0/8', '::1' ],
	macaddr => [ '08:00:2b:01:02:03' ],
	int4range => [ 'empty', '[1,5]' ],
	tstzrange => [ '[2024-01-01 00:00+00,)' ],
	'int4[]' => [ '{}', '[0:1]={1,NULL}', '{{1,2},{3,4}}' ],
	'float8[]' => [ '{NaN,-0}' ],
	'text[]' => [ '{"a b",NULL,""}' ],
	'timestamptz[]' => [ '{infinity,2024-01-01 00:00+00}' ],
);
my $newest = (sort { $a <=> $b } keys %server)[-1];

for my $node (values %server)
{
	my ($definition, $number) = ('', 0);
	for my $type (sort keys %values)
	{
		my $texts = join ', ', map { my $t = $_; $t =~ s/'/''/g; "'$t'" } @{ $values{$type} };
		$number++;
		$definition .= "CREATE TABLE v$number AS SELECT i AS id, t::$type AS v, now() AS at
			FROM unnest(ARRAY[$texts]) WITH ORDINALITY AS u(t, i);\n";
	}
	# 17 has intervals without end
	my $endless = $node->pg_version >= 17 ? "'infinity'" : "'1 day'";
	$node->safe_psql('postgres', "SET client_encoding = 'UTF8'; CREATE EXTENSION pg_shuttle CASCADE; $definition
		CREATE TABLE endless AS SELECT 1 AS id, interval $endless AS v, now() AS at;
		CREATE TABLE endless_too AS SELECT * FROM endless;");
}

# The query node keeps three copies: by postgres_fdw, as texts, in binary.
my $compare = q{
	DO $do$
	DECLARE
		side text;
	BEGIN
		PERFORM set_config('shuttle.enable_binary_transfer', 'on', false);
		PERFORM * FROM ours.%1$s;
		FOREACH side IN ARRAY ARRAY['stock', 'off', 'on'] LOOP
			PERFORM set_config('shuttle.enable_binary_transfer', CASE side WHEN 'off' THEN 'off' ELSE 'on' END, false);
			EXECUTE format('CREATE TEMP TABLE %%I AS SELECT * FROM %%I.%1$s', 'by_' || side,
				CASE side WHEN 'stock' THEN 'stock' ELSE 'ours' END);
		END LOOP;
	END $do$;
	SELECT count(*) > 0 AND bool_and(s *= t AND s *= b)
	FROM by_stock s JOIN by_off t USING (id) JOIN by_on b USING (id)};
my $bytes = q{
	CREATE FUNCTION pg_temp.bytes(query text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE plan json;
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, DIST, FORMAT JSON) ' || query INTO plan;
		RETURN (plan->0->>'Storage Bytes Received')::bigint;
	END $$;
	SELECT pg_temp.bytes('SELECT * FROM ours.%1$s') <> pg_temp.bytes('SELECT * FROM ours.%1$s')};

for my $query_name (sort keys %server)
{
	for my $node_name (sort keys %server)
	{
		next if $query_name eq $node_name;
		my ($query, $node) = ($server{$query_name}, $server{$node_name});
		my $pair = "$query_name asks $node_name";
		my ($host, $port) = ($node->host, $node->port);
		$query->safe_psql('postgres', "CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
			CREATE SERVER stock_far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
			CREATE USER MAPPING FOR CURRENT_USER SERVER far;
			CREATE USER MAPPING FOR CURRENT_USER SERVER stock_far;
			CREATE SCHEMA ours; CREATE SCHEMA stock;
			IMPORT FOREIGN SCHEMA public FROM SERVER far INTO ours;
			IMPORT FOREIGN SCHEMA public FROM SERVER stock_far INTO stock;");
		my $number = 0;
		for my $type (sort keys %values)
		{
			$number++;
			is($query->safe_psql('postgres', sprintf $compare, "v$number"), 't', "$pair: $type");
			next if $type eq 'interval';

			# Each text in an array would have to be looked at by itself.
			my ($expected, $way) = $type eq 'text[]' ? ('f', 'as texts') : ('t', 'in binary');
			is($query->safe_psql('postgres', sprintf $bytes, "v$number"), $expected, "$pair: $type comes $way");
		}
		# Intervals do not where one side has infinite ones: the other would
		# take them for very long ones.
		is($query->safe_psql('postgres', sprintf $bytes, 'endless'), 'f', "$pair: intervals come as texts")
			if ($query->pg_version >= 17) != ($node->pg_version >= 17) && $query->pg_version >= 17;
		if ($query->pg_version < 17 && $node->pg_version >= 17)
		{
			for my $repetition (1, 2)
			{
				my ($code, $out, $err) = $query->psql('postgres', 'SELECT * FROM ours.endless; SELECT * FROM ours.endless_too');
				isnt($code, 0, "$pair: an infinite interval is refused");
				like($err, qr/infinity/, "$pair: and named");
			}
		}
		$query->safe_psql('postgres', 'DROP SERVER far CASCADE; DROP SERVER stock_far CASCADE; DROP SCHEMA ours, stock;');
	}
}

$_->stop for values %server;
done_testing();
