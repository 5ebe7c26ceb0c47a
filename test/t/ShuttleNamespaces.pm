# Runs a test again in Linux namespaces of its own, where it may do what only
# root may: change the network, or mount a small disk.
#
#   use ShuttleNamespaces 'network';      # before PostgreSQL's test modules
#   use ShuttleNamespaces 'disk', '8m';   # $ENV{SHUTTLE_SMALL_DISK} is its directory
#   plan skip_all => $ShuttleNamespaces::why_not if defined $ShuttleNamespaces::why_not;
#
# The test stays the user that it was. With 'network' it may use ip(8), and
# nothing but what it makes itself can be reached.
package ShuttleNamespaces;

use strict;
use warnings;

use File::Temp ();

our $why_not;

sub import
{
	my ($class, $kind, $size) = @_;
	return unless defined $kind;
	if (($ENV{SHUTTLE_NAMESPACES} // '') eq $kind)
	{
		system('ip', 'link', 'set', 'lo', 'up') if $kind eq 'network';
		return;
	}
	my @again = ($^X, (map { "-I$_" } @INC), $0, @ARGV);
	my @command = $kind eq 'network' ? network_command() : disk_command($size);
	return unless @command;
	$ENV{SHUTTLE_NAMESPACES} = $kind;
	exec @command, @again or die "exec: $!";
}

# A user namespace gives all rights over the namespaces that are made with it.
sub network_command
{
	my @command = qw(unshare --user --map-current-user --keep-caps --net);
	my $test = 'ip link add shuttle0 type veth peer name shuttle1';
	my $said = `@command sh -c '$test' 2>&1`;
	return @command if $? == 0;
	$why_not = "no network of its own: $said";
	return;
}

# Only root may mount there; the inner one is the user again.
sub disk_command
{
	my $size = shift;
	my ($user, $group) = ($>, $) =~ /(\d+)/);
	my $dir = File::Temp::tempdir('shuttle_disk_XXXXXX', TMPDIR => 1);
	my @command = (qw(unshare --user --map-root-user --mount sh -c),
		"mount -t tmpfs -o size=$size,mode=0700 shuttle '$dir' && exec unshare --user --map-user=$user --map-group=$group \"\$@\"", 'sh');
	$ENV{SHUTTLE_SMALL_DISK} = $dir;
	my $said = do
	{
		open(my $pipe, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @command, 'touch', "$dir/here") or die "sh: $!";
		local $/;
		my $text = <$pipe>;
		close $pipe;
		$text;
	};
	return @command if $? == 0;
	rmdir $dir;
	$why_not = "no disk of its own: $said";
	return;
}

1;
