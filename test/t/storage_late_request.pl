# A request outside of the transaction that gets no answer in time is cancelled: here a
# session's look for deadlocks, which waits for a lock on the catalog that it reads.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start('CREATE TABLE locked AS SELECT 1 AS id, 0 AS n',
	conf => "shuttle.deadlock_timeout = '50ms'");
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE locked (id int, n int) SERVER far');

my $holder = ShuttleSession->new($node, 'far');
my $control = ShuttleSession->new($node, 'postgres');
my $session = ShuttleSession->new($node, 'postgres');
my $looks = q{FROM pg_stat_activity WHERE datname = 'far' AND wait_event = 'relation' AND query LIKE '%pg_blocking_pids%'};

$holder->run('BEGIN; UPDATE locked SET n = 1; LOCK TABLE pg_catalog.pg_locks;');
$session->send('UPDATE locked SET n = 2;');
ok($control->poll("SELECT count(*) = 1 $looks"), 'a look for deadlocks waits');
ok($control->poll("SELECT count(*) = 0 $looks"), 'it ends when it is late');
ok(slurp_file($node->logfile) =~ m/ERROR:  canceling statement due to user request\n[^\n]*STATEMENT:[^\n]*pg_blocking_pids/,
	'since it is cancelled');
$holder->run('COMMIT;');
my ($out, $err) = $session->result;
is($err, '', 'the session goes on');
is(($holder->run('SELECT n FROM locked;'))[0], 2, 'and has written');

$_->quit for $session, $control, $holder;
$node->stop;
done_testing();
