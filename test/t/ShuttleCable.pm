# A server at the other end of a cable that can be cut: packets are lost then,
# and nobody is told. Only for tests that "use ShuttleNamespaces 'network'".
#
#   my $cable = ShuttleCable->new;
#   $cable->attach($node);     # before it is started: runs it at the other end
#   $cable->address;           # of that end
#   $cable->cut; $cable->mend;
#   $cable->silence_names;     # name servers are asked, and never answer
package ShuttleCable;

use strict;
use warnings;

use IO::Socket::INET;
use PostgreSQL::Test::Utils ();
use Time::HiRes qw(usleep);

my ($near, $far) = ('10.77.0.1', '10.77.0.2');

sub new
{
	my $class = shift;
	my $self = bless {}, $class;

	# It lives as long as its input is open, and the namespace as long as it.
	my $pid = open(my $holder, '|-', qw(unshare --net cat)) // die "unshare: $!";
	@$self{qw(pid holder)} = ($pid, $holder);
	for (1 .. 1000)
	{
		last if readlink("/proc/$pid/ns/net") ne readlink('/proc/self/ns/net');
		usleep(5000);
	}
	run("ip link add near0 type veth peer name far0 netns $pid");
	run("ip addr add $near/24 dev near0");
	run('ip link set near0 up');
	$self->there('ip link set lo up');
	$self->there("ip addr add $far/24 dev far0");
	$self->there('ip link set far0 up');

	# Else the kernel asks whose address it is, and tells when nobody answers.
	my $shown = `nsenter --target $pid --net ip -brief link show far0`;
	my ($station) = $shown =~ /\b((?:[0-9a-f]{2}:){5}[0-9a-f]{2})\b/ or die "no address: $shown";
	run("ip neigh replace $far lladdr $station dev near0 nud permanent");
	return $self;
}

sub address { return $far; }

sub run
{
	my $command = shift;
	system($command) == 0 or die "failed: $command";
	return;
}

sub there
{
	my ($self, $command) = @_;
	return run("nsenter --target $self->{pid} --net $command");
}

# The server's tools find a pg_ctl in front of their own.
sub attach
{
	my ($self, $node) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	chomp(my $pg_ctl = `which pg_ctl`);
	open(my $file, '>', "$dir/pg_ctl") or die "pg_ctl: $!";
	print $file qq{#!/bin/sh\nexec nsenter --target $self->{pid} --net $pg_ctl "\$@"\n};
	close $file;
	chmod 0755, "$dir/pg_ctl";
	$node->append_conf('postgresql.conf', "listen_addresses = '$far'");
	$node->append_conf('pg_hba.conf', "host all all $near/24 trust");
	$self->{path} = $dir;
	return;
}

sub start
{
	my ($self, $node) = @_;
	local $ENV{PATH} = "$self->{path}:$ENV{PATH}";
	$node->start;
	return;
}

sub cut { return $_[0]->there('ip link set far0 down'); }
sub mend { return $_[0]->there('ip link set far0 up'); }

sub silence_names
{
	my $self = shift;
	open(my $file, '<', '/etc/resolv.conf') or return 0;
	my @servers = map { /^\s*nameserver\s+([\d.]+)\s*$/ ? $1 : () } <$file>;
	@servers = ('127.0.0.1') unless @servers;
	for my $server (@servers)
	{
		run("ip addr add $server/32 dev lo") unless $server =~ /^127\./;
		push @{ $self->{mute} }, IO::Socket::INET->new(Proto => 'udp', LocalAddr => $server, LocalPort => 53)
		  // die "port 53 of $server: $!";
	}
	return 1;
}

sub DESTROY
{
	my $self = shift;
	local $?;
	close $self->{holder} if defined $self->{holder};
	return;
}

1;
