# A query node over two nodes: how many round trips a statement waits for, one behind the other, COMMIT
# included. Each answer takes 200 ms, so the time of a statement tells, on a busy machine, too; 400 ms for a
# statement of many rows. What a round trip takes beside that is measured.
#
#   my $trips = ShuttleTrips->new;        # database postgres; nodes n1 and n2 are in use
#   $trips->query;                        # the cluster
#   $trips->session;                      # a session there
#   $trips->most($what, $most, @statements);    # tests that none of them waits for more than $most
#   $trips->most_of_many($what, $most, @statements);    # the same for statements of many rows
package ShuttleTrips;

use strict;
use warnings;

use List::Util qw(min);
use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(time usleep);

use ShuttleProxy;
use ShuttleSession;

sub new
{
	my $class = shift;
	my $query = PostgreSQL::Test::Cluster->new('query');
	my $far = PostgreSQL::Test::Cluster->new('far');
	my $self = bless { query => $query, far => $far, proxies => [] }, $class;

	$query->init;
	$query->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 10\nwal_level = replica");
	$query->start;
	$far->init;
	$far->append_conf('postgresql.conf', 'max_prepared_transactions = 10');
	$far->start;
	$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
	$self->add_node($_) for qw(n1 n2);
	$query->safe_psql('postgres', "CREATE FOREIGN TABLE one_trip (oid oid) SERVER n1 OPTIONS (schema_name 'pg_catalog', table_name 'pg_am')");
	$self->{session} = ShuttleSession->new($query, 'postgres');
	return $self;
}

sub add_node
{
	my ($self, $name) = @_;
	my $query = $self->{query};
	my $user = $query->safe_psql('postgres', 'SELECT current_user');
	my $proxy = ShuttleProxy->new($self->{far});

	push @{ $self->{proxies} }, $proxy;
	$self->{far}->safe_psql('postgres', "CREATE DATABASE $name");
	$query->safe_psql('postgres', qq{
		CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '127.0.0.1', port '@{[ $proxy->port ]}', dbname '$name');
		CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '$user');
		SELECT shuttle.use_node('$name');
	});
	return;
}

sub query { return $_[0]{query}; }
sub session { return $_[0]{session}; }

sub most
{
	my ($self, @what) = @_;

	return $self->_most(200, @what);
}

sub most_of_many
{
	my ($self, @what) = @_;

	return $self->_most(400, @what);
}

# Returns how long a statement takes, in milliseconds, and its error.
sub _time
{
	my ($self, $delay_ms, $statement) = @_;

	usleep(1200 * $delay_ms);		# a COMMIT for which nobody waited
	$_->delay_ms($delay_ms) for @{ $self->{proxies} };
	my $begun = time;
	my ($out, $error) = $self->{session}->run("$statement;");
	my $ms = (time - $begun) * 1000;
	$_->delay_ms(0) for @{ $self->{proxies} };
	return ($ms, $error);
}

# Returns what one round trip takes at least; that is measured once.
sub _trip_ms
{
	my ($self, $delay_ms) = @_;
	my $query = 'SELECT count(*) FROM one_trip';

	if (!$self->{trip_ms}{$delay_ms})
	{
		$self->{session}->run("$query;") for 1 .. 3;
		$self->{trip_ms}{$delay_ms} = min(map { ($self->_time($delay_ms, $query))[0] } 1 .. 3);
	}
	return $self->{trip_ms}{$delay_ms};
}

sub _most
{
	my ($self, $delay_ms, $what, $most, @statements) = @_;
	my $trip_ms = $self->_trip_ms($delay_ms);
	my $found = 0;

	for my $statement (@statements)
	{
		my ($ms, $error) = $self->_time($delay_ms, $statement);
		my $trips = int($ms / $trip_ms + 0.5);
		is($error, '', $statement) or return;
		$found = $trips if $trips > $found;
	}
	cmp_ok($found, '<=', $most, "$what: at most $most round trips");
	note(sprintf("%s: %d round trips of %.0f ms", $what, $found, $trip_ms));
	return;
}

1;
