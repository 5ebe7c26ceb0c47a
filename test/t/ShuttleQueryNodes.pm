# A primary server, standbys that are query nodes, and storage nodes n1 and n2: two databases of one server,
# or two servers.
#
#   my $cluster = ShuttleQueryNodes->new(sql => 'CREATE TABLE ...',    # run on the primary server
#       apart => 1,                                    # two servers
#       conf => 'max_locks_per_transaction = 500',     # more settings of the primary server
#       mapping => "password_required 'false'");       # more options of user mappings
#   $cluster->{primary}, $cluster->{far}{n1}           # servers
#   my $standby = $cluster->add_standby('standby', "shuttle.query_node_name = 'q2'");    # started, and has replayed all
#   $cluster->wait_for_lease($standby);                # it may write
#   $cluster->stop;                                    # whoever runs
package ShuttleQueryNodes;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;

my $far_conf = <<'END';
restart_after_crash = on
max_prepared_transactions = 20
wal_level = logical
max_wal_senders = 10
max_replication_slots = 10
max_worker_processes = 20
max_logical_replication_workers = 10
wal_retrieve_retry_interval = 200ms
END

sub start_far
{
	my $name = shift;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init;
	$server->append_conf('postgresql.conf', $far_conf);
	$server->start;
	return $server;
}

sub new
{
	my ($class, %options) = @_;
	my $one = $options{apart} ? undef : start_far('far');
	my %far = map { $_ => $one // start_far($_) } 'n1', 'n2';
	my $primary = PostgreSQL::Test::Cluster->new('primary');
	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', "restart_after_crash = on\nshared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 5\n" . ($options{conf} // ''));
	$primary->start;
	my $user = $primary->safe_psql('postgres', 'SELECT current_user');
	my $mapping = join ', ', "user '$user'", $options{mapping} // ();

	$primary->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE');
	for my $name (sort keys %far)
	{
		my $database = $one ? $name : 'postgres';
		$one->safe_psql('postgres', "CREATE DATABASE $name") if $one;
		$primary->safe_psql('postgres', qq{CREATE SERVER $name FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $far{$name}->host ]}', port '@{[ $far{$name}->port ]}', dbname '$database');
			CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS ($mapping); SELECT shuttle.use_node('$name')});
	}
	$primary->safe_psql('postgres', $options{sql});
	return bless { primary => $primary, far => \%far, standbys => [] }, $class;
}

# All standbys use the slot q2: one runs at a time.
sub add_standby
{
	my ($self, $name, $conf) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$self->{primary}->backup($name);
	$standby->init_from_backup($self->{primary}, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', "primary_slot_name = 'q2'\nhot_standby_feedback = on\n" . ($conf // ''));
	$standby->start;
	push @{ $self->{standbys} }, $standby;
	$self->{primary}->wait_for_catchup($standby, 'replay');
	return $standby;
}

sub wait_for_lease
{
	my ($self, $standby) = @_;
	$standby->poll_query_until('postgres', q{SELECT now() - pg_last_xact_replay_timestamp() < interval '4 s' AND EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')})
	  or die 'the standby does not follow';
	return;
}

sub stop
{
	my $self = shift;
	$_->stop for @{ $self->{standbys} }, $self->{primary}, values %{ $self->{far} };
	return;
}

1;
