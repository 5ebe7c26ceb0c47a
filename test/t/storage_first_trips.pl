# How often a new session waits for a node before its first answer, and that it
# makes one connection for all it asks.
use strict;
use warnings;

use Test::More;
use Time::HiRes qw(usleep);

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE words AS SELECT i AS id, 'word ' || i AS t FROM generate_series(1, 1000) i;
	ALTER TABLE words ADD PRIMARY KEY (id);
	CREATE TABLE texts AS SELECT i AS id, 'word ' || i AS t FROM generate_series(1, 1000) i;
	ALTER TABLE texts ADD PRIMARY KEY (t);
	ANALYZE;
}, options => "sslmode 'disable', gssencmode 'disable'");
$node->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public FROM SERVER far INTO public;
	ANALYZE words, texts;
});

# Least trips of three sessions, and their connections: for a statement, behind
# another one.  A busy machine lets what belongs together go out in two packets.
sub trips
{
	my ($sql, $before) = @_;
	my ($least, $connections);
	for (1 .. 3)
	{
		my $session = ShuttleSession->new($node, 'postgres');
		$session->run($before) if $before;
		usleep(60_000);		# answers that nobody waits for
		$proxy->trips;
		$proxy->connections;
		my ($out, $err) = $session->run($sql);
		is($err, '', "no error: $sql");
		usleep(60_000);
		my $trips = $proxy->trips;
		($least, $connections) = ($trips, $proxy->connections) if !defined $least || $trips < $least;
		$session->quit;
		usleep(60_000);
	}
	return "$least trips, $connections connections";
}

# To connect is one trip, with neither encryption nor password.
my $connect = 1;
$proxy->delay_ms(20);

# Nobody waits for the COMMIT, which is one of the trips.
my $key = 'SELECT id FROM words WHERE id = 7;';
my $order = 'SELECT t FROM words ORDER BY t LIMIT 3;';
my $once = sprintf '%d trips, 1 connections', $connect + 2;
my $asked = sprintf '%d trips, 1 connections', $connect + 3;
is(trips($key), $once, 'a row by its key: one trip behind the connection');
is(trips(q{SELECT id FROM texts WHERE t = 'word 7';}), $once, 'and by a text');
is(trips($order), $asked, 'an order of texts: one more, on the same connection');
is(trips('SELECT min(t) FROM words;'), $asked, 'so with their minimum');
is(trips($order, $key), sprintf('%d trips, 1 connections', $connect + 4), 'a session with a connection asks by another');
is(trips($order, 'SELECT max(t) FROM words;'), '2 trips, 0 connections', 'what was asked is known');

# What AND leaves out is not asked for.
my $exists = 'EXISTS (SELECT FROM words WHERE id = %d)';
is(trips(sprintf("SELECT $exists AND $exists AND $exists;", 1, 2, 3), $key), '4 trips, 0 connections', 'each condition when its turn comes');
is(trips(sprintf("SELECT $exists AND $exists AND $exists;", 0, 2, 3), $key), '2 trips, 0 connections', 'and not behind one that is false');
is(trips(sprintf("SELECT $exists, $exists, $exists;", 1, 2, 3), $key), '2 trips, 0 connections', 'what is needed in any case, at once');
$node->stop;
done_testing();
