# A query node and storage nodes that may be killed, accounts on each of them and
# a ledger here, and what has to hold when all are up again.
#
#   my $cluster = ShuttleCommit->new(2);       # storage nodes node1, node2
#   $cluster->{query}, $cluster->{nodes}[0]
#   $cluster->kill_server($server, @pids);     # its postmaster; these first
#   $cluster->kill_backend($pid);
#   $cluster->kill_victim($victim, $pid);      # by its name; $pid: the session's backend on the query node
#   $cluster->bring_up;                        # whoever was killed
#   $cluster->is_settled($label, $seconds);    # nothing is prepared any more
#   $cluster->state;                           # balances, and the ledger's rows
#   $cluster->add_query($conf);    # another query node over the same nodes
#   $cluster->stop;
package ShuttleCommit;

use strict;
use warnings;

use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our $accounts = 20;
our $balance = 100;

sub start_node
{
	my ($name, $conf) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init(extra => [ '--encoding', 'UTF8' ]);
	$server->append_conf('postgresql.conf', "restart_after_crash = on\njit = off\n$conf");
	$server->start;
	return $server;
}

sub new
{
	my ($class, $nnodes, %options) = @_;
	my $conf = $options{conf} // '';
	my $self = bless { others => [], dying => [] }, $class;
	my @nodes = map { start_node("node$_", "max_prepared_transactions = 50\n$conf") } 1 .. $nnodes;
	my $query = start_node('query',
		"shared_preload_libraries = 'pg_shuttle'\nshuttle.recovery_interval = 1\nmax_prepared_transactions = 5\n$conf" . ($options{query_conf} // ''));
	@$self{qw(query nodes)} = ($query, \@nodes);

	$_->safe_psql('postgres', "CREATE TABLE account AS SELECT i AS id, $balance AS v FROM generate_series(1, $accounts) i;
		ALTER TABLE account ADD PRIMARY KEY (id)") for @nodes;
	$self->make_tables($query);
	return $self;
}

sub make_tables
{
	my ($self, $query) = @_;
	$query->safe_psql('postgres', 'CREATE EXTENSION pg_shuttle CASCADE; CREATE TABLE ledger (transfer bigint PRIMARY KEY, source int, target int, amount int)');
	my $user = $query->safe_psql('postgres', 'SELECT current_user');
	for my $i (1 .. @{ $self->{nodes} })
	{
		my $node = $self->{nodes}[ $i - 1 ];
		my ($host, $port) = ($node->host, $node->port);
		$query->safe_psql('postgres', "CREATE SERVER node$i FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
			CREATE USER MAPPING FOR CURRENT_USER SERVER node$i OPTIONS (user '$user');
			CREATE FOREIGN TABLE account$i (id int, v int) SERVER node$i OPTIONS (table_name 'account')");
	}
	return;
}

# Another query node over the same nodes; both know each other.
sub add_query
{
	my ($self, $conf) = @_;
	my $other = start_node('other', "shared_preload_libraries = 'pg_shuttle'\n$conf");
	$self->make_tables($other);
	my $user = $other->safe_psql('postgres', 'SELECT current_user');
	for my $pair ([ $self->{query}, $other ], [ $other, $self->{query} ])
	{
		my ($host, $port) = ($pair->[1]->host, $pair->[1]->port);
		$pair->[0]->safe_psql('postgres', "CREATE SERVER peer FOREIGN DATA WRAPPER shuttle OPTIONS (host '$host', port '$port', dbname 'postgres');
			CREATE USER MAPPING FOR CURRENT_USER SERVER peer OPTIONS (user '$user');
			SELECT shuttle.add_query_node('peer')");
	}
	push @{ $self->{others} }, $other;
	return $other;
}

# A postmaster that was killed leaves processes, which end when they notice; the
# next one can't start before.
sub kill_server
{
	my ($self, $server, @pids) = @_;
	open(my $file, '<', $server->data_dir . '/postmaster.pid') or die "no postmaster: $!";
	my $postmaster = <$file>;
	close $file;
	chomp $postmaster;
	my @children = map { /(\d+)/ } split /\s+/, qx(ps -o pid= --ppid $postmaster);
	kill 'STOP', @pids;
	kill 'KILL', $postmaster, @pids;
	$server->{killed} = [ $postmaster, @children ];
	return;
}

# Its server ends all others when it has noticed, and recovers.
sub kill_backend
{
	my ($self, $pid) = @_;
	kill 'KILL', $pid;
	push @{ $self->{dying} }, $pid;
	return;
}

# 'storage backend': node1's end of the session's connection; 'storage server': node2.
sub kill_victim
{
	my ($self, $victim, $pid) = @_;
	my ($one, $two) = @{ $self->{nodes} };
	if ($victim eq 'storage backend')
	{
		my $backend = $one->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name ~ '^pg_shuttle .*:$pid( |\$)'");
		die "no backend of node1 for $pid" if $backend !~ /^\d+$/;
		$self->kill_backend($backend);
	}
	elsif ($victim eq 'storage server') { $self->kill_server($two); }
	elsif ($victim eq 'query backend') { $self->kill_backend($pid); }
	elsif ($victim eq 'query server') { $self->kill_server($self->{query}, $pid); }
	else { die "unknown victim: $victim"; }
	return;
}

# Asks a server that may be down: a psql that is fed by a pipe would end the test.
# Returns psql's code and what it printed.
sub ask
{
	my ($server, $sql) = @_;
	my $pid = open(my $out, '-|') // die "could not fork: $!";
	if ($pid == 0)
	{
		open(STDERR, '>', '/dev/null');
		exec('psql', '-XAtq', '-d', $server->connstr('postgres'), '-c', $sql) or POSIX::_exit(3);
	}
	my $answer = join '', <$out>;
	close $out;
	chomp $answer;
	return ($? >> 8, $answer);
}

sub answers
{
	my $server = shift;
	my ($code) = ask($server, 'SELECT 1');
	return $code == 0;
}

sub bring_up
{
	my $self = shift;
	my $deadline = time() + 60;
	usleep(5000) while time() < $deadline && grep { kill 0, $_ } @{ $self->{dying} };
	$self->{dying} = [];
	for my $server ($self->{query}, @{ $self->{nodes} })
	{
		if (my $killed = delete $server->{killed})
		{
			usleep(10_000) while time() < $deadline && grep { kill 0, $_ } @$killed;
			kill 'KILL', grep { kill 0, $_ } @$killed;
			unlink $server->data_dir . '/postmaster.pid';
			$server->{_pid} = undef;
			$server->start;
		}
		usleep(20_000) until answers($server) || time() > $deadline;
	}
	return;
}

sub nprepared
{
	my $self = shift;
	my $n = 0;
	$n += $_->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') for @{ $self->{nodes} };
	return $n;
}

sub is_settled
{
	my ($self, $label, $seconds) = @_;
	my $deadline = time() + ($seconds // 10);
	usleep(20_000) while $self->nprepared > 0 && time() < $deadline;
	my $n = $self->nprepared;
	return 1 if $n == 0;
	fail("$label: $n transactions are still prepared");
	diag($self->{query}->safe_psql('postgres', 'SELECT * FROM shuttle.transactions'));
	return 0;
}

sub state
{
	my $self = shift;
	return join '|', (map { $_->safe_psql('postgres', 'SELECT sum(v) FROM account') } @{ $self->{nodes} }),
	  $self->{query}->safe_psql('postgres', 'SELECT count(*) FROM ledger');
}

sub stop
{
	my $self = shift;
	$_->stop for $self->{query}, @{ $self->{others} }, @{ $self->{nodes} };
	return;
}

1;
