# Three nodes, a group of tables whose tablets are split, and clients that write to them.
#
#   my $splits = ShuttleSplits->new;
#   $splits->all_fits('label');         # no row is lost or doubled, and nothing is left
package ShuttleSplits;

use strict;
use warnings;

use Test::More;

use ShuttleCommit;
use ShuttleWriters;

sub new
{
	my ($class) = @_;
	my $cluster = ShuttleCommit->new(3, conf => "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\nmax_logical_replication_workers = 10\nmax_worker_processes = 20\nmax_sync_workers_per_subscription = 2\nwal_retrieve_retry_interval = 200ms\n");
	my $query = $cluster->{query};
	$query->safe_psql('postgres', qq{DROP USER MAPPING FOR CURRENT_USER SERVER node$_; CREATE USER MAPPING FOR PUBLIC SERVER node$_; DROP FOREIGN TABLE account$_; SELECT shuttle.use_node('node$_')}) for 1 .. 3;
	$query->safe_psql('postgres', q{CREATE SCHEMA shop; CREATE SEQUENCE shop.numbers;
		CREATE TABLE shop.region (id int PRIMARY KEY); INSERT INTO shop.region VALUES (0), (1); SELECT shuttle.reference_table('shop.region');
		CREATE TABLE shop.customer (id int PRIMARY KEY, n int, region int REFERENCES shop.region);
		CREATE TABLE shop.orders (id int, customer_id int REFERENCES shop.customer, twice int GENERATED ALWAYS AS (id * 2) STORED, PRIMARY KEY (customer_id, id));
		CREATE TABLE shop.log ("Customer's" int, note text);
		INSERT INTO shop.customer SELECT i, 0, i % 2 FROM generate_series(1, 100) AS i;
		SELECT shuttle.distribute_tables('{shop.customer.id, shop.orders.customer_id}', 4, nodes => '{node1,node2}');
		SELECT shuttle.distribute_table('shop.log', 'Customer''s', colocate_with => 'shop.customer');
		CREATE FUNCTION shop.add(c int) RETURNS int LANGUAGE plpgsql AS $$DECLARE r int; BEGIN SELECT count(*) INTO r FROM shop.orders WHERE customer_id = c; RETURN r; END$$;});
	my $writers = ShuttleWriters->new($query, q{\set c random(1, 100)
BEGIN;
UPDATE shop.customer SET n = n + 1 WHERE id = :c;
INSERT INTO shop.orders (id, customer_id) VALUES (nextval('shop.numbers'), :c);
INSERT INTO shop.log VALUES (:c, 'made');
UPDATE shop.log SET note = 'changed' WHERE "Customer's" = :c AND note = 'made';
COMMIT;
});
	return bless { cluster => $cluster, query => $query, nodes => $cluster->{nodes}, writers => $writers }, $class;
}

# Number, modulus and node of each tablet of the tables, which lie alike.
sub layout
{
	my ($self) = @_;
	my @layouts = map { $self->{query}->safe_psql('postgres', qq{SELECT string_agg(format('%s/%s %s', substring(bounds, 'remainder (\\d+)'), substring(bounds, 'modulus (\\d+)'), node), ', ' ORDER BY substring(bounds, 'remainder (\\d+)')::int)
		FROM shuttle.tablets WHERE relation = 'shop.$_'::regclass AND tablet::text ~ format('_t%s(_\\d+)?\$', substring(bounds, 'remainder (\\d+)'))}) } 'customer', 'orders', 'log';
	is("$layouts[1] $layouts[2]", "$layouts[0] $layouts[0]", 'tables are spread alike');
	return $layouts[0];
}

# The tablet that a name stands for which has no count, as its node calls it.
sub tablet
{
	my ($self, $name) = @_;
	my ($schema, $table, $number) = $name =~ /^(\w+)\.(.*)_t(\d+)$/ or return $name;
	return $self->{query}->safe_psql('postgres', qq{SELECT '$schema.' || relname FROM shuttle.tablets JOIN pg_class ON oid = tablet WHERE relation = '$schema.$table'::regclass AND bounds LIKE '%remainder $number)'});
}

# The first argument is a tablet.
sub call
{
	my ($self, $what, @arguments) = @_;
	$arguments[0] = $self->tablet($arguments[0]) if $what =~ /_tablet$/;
	my (undef, undef, $error) = $self->{query}->psql('postgres', "CALL shuttle.$what(" . join(', ', map { "'$_'" } @arguments) . ')');
	return $error;
}

sub all_fits
{
	my ($self, $label) = @_;
	is($self->{query}->safe_psql('postgres', q{SELECT count(*) FROM shop.customer AS c WHERE n <> (SELECT count(*) FROM shop.orders WHERE customer_id = c.id)
		OR n <> (SELECT count(*) FROM shop.log WHERE "Customer's" = c.id AND note = 'changed')}), '0', "$label: no row is lost or doubled");
	is($self->{query}->safe_psql('postgres', q{SELECT count(*), count(o.id) FROM generate_series(1, 100) AS c LEFT JOIN LATERAL (SELECT * FROM shop.customer WHERE id = c) AS k ON true
		LEFT JOIN LATERAL (SELECT max(id) AS id FROM shop.orders WHERE customer_id = c) AS o ON true WHERE k.id IS NULL}), '0|0', "$label: all keys are found");
	is($self->{query}->safe_psql('postgres', q{SELECT * FROM shuttle.check()}), '', "$label: check finds nothing");
	is(join(' ', map { $_->safe_psql('postgres', q{SELECT (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_subscription) + (SELECT count(*) FROM pg_replication_slots)
		+ (SELECT count(*) FROM pg_class WHERE relreplident = 'f' AND relnamespace = 'shop'::regnamespace)}) } @{ $self->{nodes} }), '0 0 0', "$label: nothing is left");
	return;
}

1;
