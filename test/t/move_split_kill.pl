# A tablet is split while clients write to it, and the session is cancelled, or it or a node
# is killed, at each step: either half of the split is done, and nothing is left.
# expected in server log: terminated by signal 9
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(usleep);

use ShuttlePoints;
use ShuttleSession;
use ShuttleSplits;

my $splits = ShuttleSplits->new;
my ($cluster, $query, @nodes) = ($splits->{cluster}, $splits->{query}, @{ $splits->{nodes} });
my $points = ShuttlePoints->new($query);
plan skip_all => 'the server has no points to stop at' unless defined $points;
$query->safe_psql('postgres', q{SELECT shuttle.distribute_function('shop.add(int)', 'c', 'shop.orders')});

my $session = ShuttleSession->new($query, 'postgres');

# The session waits at a point: it is cancelled there, and nothing is split or left.
sub cancelled_at
{
	my ($point, $before, $label) = @_;
	$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')');
	$points->release($point);
	my (undef, $error) = $session->result;
	like($error, qr/canceling statement/, $label);
	unlike($error, qr/WARNING/, "$label: no warning");
	is($splits->layout, $before, "$label: nothing is split");
	$splits->all_fits($label);
	return;
}

# workers of the subscription make slots at this moment
for my $round (1 .. 3)
{
	my $before = $splits->layout;
	$points->arm('move-subscribed');
	$session->send(q{CALL shuttle.split_tablet('shop.orders_t1', 'node3');});
	$points->reached('move-subscribed', $session->pid);
	usleep(rand(60_000));
	cancelled_at('move-subscribed', $before, "cancel $round");
}
# while nodes commit that the tablets have changed places
{
	my $before = $splits->layout;
	$points->arm('move-changed');
	$session->send(q{CALL shuttle.split_tablet('shop.orders_t1', 'node3');});
	ok($points->reached('move-changed', $session->pid), "cancel of the commit: the tablets have changed places");
	$points->arm('before-prepare');
	$points->release('move-changed');
	ok($points->reached('before-prepare', $session->pid), "cancel of the commit: nodes prepare");
	cancelled_at('before-prepare', $before, 'cancel of the commit');
}
# and at any moment
for my $round (1 .. 6)
{
	my $before = $splits->layout;
	my ($number, $modulus, $from) = $before =~ m{(\d+)/(\d+) node(\d)$};
	my ($m, $half, $to) = (2 * $modulus, $number + $modulus, $from % 3 + 1);
	$session->send('CALL shuttle.split_tablet(' . "'" . $splits->tablet("shop.orders_t$number") . "', 'node$to');");
	usleep(rand(2_000_000));
	$query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')');
	my (undef, $error) = $session->result;
	unlike($error, qr/WARNING/, "random cancel $round: no warning");
	my $after = $splits->layout;
	ok($after eq $before || ($after =~ m{\b$number/$m node$to} && $after =~ m{\b$half/$m node$to}), "random cancel $round: it is split, or not: $after");
	$splits->all_fits("random cancel $round");
}
$session->quit;

my @victims = ('cancel', 'query backend', 'old node', 'new node');
my $turn = 0;
for my $point ('move-made', 'move-subscribed', 'move-copied', 'move-locked', 'move-changed', 'move-done')
{
	for my $victim ($victims[ $turn++ % 4 ], $victims[ $turn % 4 ])
	{
		my $label = "$victim at $point";
		my $before = $splits->layout;
		my ($tablet) = sort { ($a =~ m{/(\d+)})[0] <=> ($b =~ m{/(\d+)})[0] } split /, /, $before;
		my ($number, $modulus, $from) = $tablet =~ m{^(\d+)/(\d+) node(\d)};
		my $to = $from % 3 + 1;
		my $half = $number + $modulus;
		$splits->{writers}->start(5);
		$session = ShuttleSession->new($query, 'postgres');
		$points->arm($point);
		$session->send('CALL shuttle.split_tablet(' . "'" . $splits->tablet("shop.customer_t$number") . "', 'node$to');");
		ok($points->reached($point, $session->pid), "$label: gets there");
		if ($victim eq 'cancel') { $query->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')'); }
		elsif ($victim eq 'query backend') { $cluster->kill_backend($session->pid); }
		else { $cluster->kill_server($nodes[ ($victim eq 'old node' ? $from : $to) - 1 ]); }
		$points->release($point) if $victim !~ /query/;
		$session->result if $victim !~ /node/;
		if ($victim =~ /node/) { $cluster->bring_up; $session->result; }
		$session->quit;
		$splits->{writers}->end;
		$cluster->bring_up;
		$points->forget;
		$cluster->is_settled($label, 30);
		$query->safe_psql('postgres', 'SELECT * FROM shuttle.check(repair => true)');
		my $after = $splits->layout;
		my $m = $modulus * 2;
		ok($after eq $before || ($after =~ m{\b$number/$m node$to} && $after =~ m{\b$half/$m node$to}), "$label: it is split, or not: $after");
		$splits->all_fits($label);
	}
}
$cluster->stop;
done_testing();
