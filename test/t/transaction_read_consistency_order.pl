# Two series of commits, each over two nodes, and readers of both: with
# shuttle.read_consistency = atomic REPEATABLE READ transactions agree on an order. If one
# sees x and y, none sees more of x and less of y (a long fork).
# SHUTTLE_LONG=n has n times as many reads.
use strict;
use warnings;

use POSIX qw(_exit);
use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleCommit;
use ShuttleWriters;

my $n = 400 * ($ENV{SHUTTLE_LONG} // 1);
my $nreaders = 3;
my $cluster = ShuttleCommit->new(3);
my $query = $cluster->{query};
my $directory = PostgreSQL::Test::Utils::tempdir();
my @writers = map { ShuttleWriters->new($query, "BEGIN;\nUPDATE account$_->[0] SET v = v + 1 WHERE id = $_->[1];\nUPDATE account2 SET v = v + 1 WHERE id = $_->[1];\nCOMMIT;\n", rate => 0) } [ 1, 1 ], [ 3, 2 ];
$_->start(600) for @writers;
$query->poll_query_until('postgres', 'SELECT (SELECT v FROM account1 WHERE id = 1) > 100 AND (SELECT v FROM account3 WHERE id = 2) > 100') or die 'nobody writes';

# Returns the number of pairs, and of those that do not fit to the one before in the order of x.
sub count_forks
{
	my ($consistency) = @_;
	open(my $file, '>', "$directory/read.sql") or die "no file: $!";
	print $file "SET shuttle.read_consistency = $consistency;\n",
	  "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT v AS x FROM account1 WHERE id = 1 \\gset\nSELECT v AS y FROM account3 WHERE id = 2 \\gset\n\\echo :x :y\nCOMMIT;\n" x $n;
	close $file;
	my @pids;
	for my $reader (1 .. $nreaders)
	{
		my $pid = fork() // die "could not fork: $!";
		if ($pid == 0)
		{
			system("psql -XAtq -v ON_ERROR_STOP=1 -f '$directory/read.sql' -d '@{[ $query->connstr('postgres') ]}' > '$directory/$consistency$reader' 2>&1");
			_exit(0);
		}
		push @pids, $pid;
	}
	waitpid($_, 0) for @pids;
	my @pairs = sort { $a->[0] <=> $b->[0] || $a->[1] <=> $b->[1] }
	  map { /^(\d+) (\d+)$/ ? [ $1, $2 ] : () } map { split /\n/, slurp_file("$directory/$consistency$_") } 1 .. $nreaders;
	my $nforks = grep { $pairs[$_]->[1] < $pairs[ $_ - 1 ]->[1] } 1 .. $#pairs;
	return (scalar @pairs, $nforks);
}

my ($nnode, $forks_of_node) = count_forks('node');
cmp_ok($forks_of_node, '>', 0, "node: $forks_of_node of $nnode reads do not fit");
my ($natomic, $forks) = count_forks('atomic');
is($forks, 0, 'atomic: all reads fit into one order');
is($natomic, $nreaders * $n, 'and none has failed');
$_->stop for @writers;
$cluster->stop;
done_testing();
