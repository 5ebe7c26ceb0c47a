# A query node over two nodes: how many round trips a statement waits for, one behind the other, COMMIT
# included. That is the longest chain of requests of which each was sent behind an answer to the one before. An
# answer takes 200 ms at least, so what is sent meanwhile does not depend on it; how long nodes work does not count.
#
#   my $trips = ShuttleTrips->new;        # database postgres; nodes n1 and n2 are in use
#   $trips->query;                        # the cluster
#   $trips->session;                      # a session there
#   $trips->most($what, $most, @statements);    # tests that none of them waits for more than $most
package ShuttleTrips;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use Test::More;
use Time::HiRes qw(usleep);

use ShuttleProxy;
use ShuttleSession;

my $delay_ms = 200;

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

# The longest chain of requests until a time. used: lists of what proxies have recorded.
sub _count_chain
{
	my ($until, @used) = @_;
	my %times;
	my ($from, $n) = (0, 0);

	for my $i (0 .. $#used)
	{
		push @{ $times{"$i $_->[1]"}{ $_->[0] } }, $_->[2] for @{ $used[$i] };
	}
	for (;;)
	{
		my $end;
		for my $link (values %times)
		{
			my ($sent) = grep { $_ >= $from } @{ $link->{sent} // [] };
			next unless defined $sent;
			my ($answered) = grep { $_ >= $sent + $delay_ms / 1000 } @{ $link->{answered} // [] };
			$end = $answered if defined $answered && (!defined $end || $answered < $end);
		}
		return $n unless defined $end && $end <= $until;
		$from = $end;
		$n++;
	}
}

# Returns how many round trips a statement waits for, and its error.
sub _count
{
	my ($self, $statement) = @_;
	my @proxies = @{ $self->{proxies} };

	usleep(1200 * $delay_ms);		# a COMMIT for which nobody waited
	$_->delay_ms($delay_ms) for @proxies;
	$_->record for @proxies;
	my ($out, $error) = $self->{session}->run("$statement;");
	my @used = map { [ $_->recorded ] } @proxies;
	$_->delay_ms(0) for @proxies;
	return (_count_chain($self->{session}->ended, @used), $error);
}

sub most
{
	my ($self, $what, $most, @statements) = @_;
	my $found = 0;

	for my $statement (@statements)
	{
		my ($trips, $error) = $self->_count($statement);
		is($error, '', $statement) or return;
		$found = $trips if $trips > $found;
	}
	cmp_ok($found, '<=', $most, "$what: at most $most round trips");
	note("$what: $found round trips");
	return;
}

1;
