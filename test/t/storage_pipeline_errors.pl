# trap 34: an error at every position of a transaction's packets, and what the
# session and the next statement then see.
#
# Each scenario is run again and again in a new session, each time with another
# statement on its way to the node made to fail, until there is none left.
# Whatever fails: the session lives, nothing but the first error of a
# transaction is shown, what a scenario reports to have done is what the node
# has, and the next transaction is right.
use strict;
use warnings;

use Test::More;

use ShuttleFar;
use ShuttleSession;

my ($node, $proxy) = ShuttleFar::start(q{
	CREATE TABLE numbers AS SELECT i AS id, i % 10 AS n, 'number ' || i AS name FROM generate_series(1, 3000) i;
	ALTER TABLE numbers ADD PRIMARY KEY (id);
	CREATE TABLE written (id int PRIMARY KEY, v text);
	CREATE VIEW broken AS SELECT id, 100 / (id - 2500) AS q FROM numbers;
	CREATE VIEW wide AS SELECT id, repeat('w', 1000) AS t FROM numbers;
	CREATE VIEW broken_wide AS SELECT id, 100 / (id - 2500) AS q, repeat('w', 1000) AS t FROM numbers;
	ANALYZE;
}, options => "shuttle_two_phase 'off'");
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE numbers (id int, n int, name text) SERVER far;
	CREATE FOREIGN TABLE broken (id int, q int) SERVER far;
	CREATE FOREIGN TABLE wide (id int, t text) SERVER far;
	CREATE FOREIGN TABLE broken_wide (id int, q int, t text) SERVER far;
	CREATE FOREIGN TABLE written (id int, v text) SERVER far;
	CREATE TABLE wanted AS SELECT i AS id FROM generate_series(1, 100) i;
	ANALYZE wanted;
	CREATE TABLE log (what text);
});

# A scenario's transaction writes what it did into the local table log, which
# tells afterwards whether it committed.
my %scenarios = (
	'one row by key' => q{
		SELECT name FROM numbers WHERE id = 7;
		SELECT name FROM numbers WHERE id = 7;
		SELECT name FROM numbers WHERE id = 7;
		SELECT name FROM numbers WHERE id = 7;},
	'pages of a cursor' => q{
		SET shuttle.fetch_limit = 100;
		SELECT count(*), sum(id) FROM (SELECT id, name FROM numbers OFFSET 0) x;
		SELECT count(*), sum(id) FROM (SELECT id, name FROM numbers OFFSET 0) x;},
	'two answers at a time' => q{
		SET shuttle.fetch_limit = 100;
		SELECT count(*) FROM numbers a FULL JOIN (SELECT * FROM numbers OFFSET 0) b ON a.id + 1 = b.id;},
	'wide rows in parts, one answer in the way of another' => q{
		SET shuttle.fetch_limit = 1000;
		SET shuttle.fetch_size_limit = '100MB';
		SET shuttle.fetch_ahead = '64kB';
		SET work_mem = '64kB';
		SELECT count(*), sum(length(t)) FROM (SELECT * FROM wide OFFSET 0) x;
		SELECT count(*) FROM wide a FULL JOIN (SELECT * FROM wide WHERE id < 400 OFFSET 0) b ON length(a.t) + a.id = length(b.t) + b.id;},
	'a cursor and statements' => q{
		SET shuttle.fetch_limit = 10;
		BEGIN;
		DECLARE c CURSOR FOR SELECT id, name FROM numbers;
		FETCH 15 FROM c;
		SELECT count(*) FROM numbers WHERE n = 3;
		FETCH 15 FROM c;
		SAVEPOINT a;
		FETCH 15 FROM c;
		SELECT name FROM numbers WHERE id = 8;
		ROLLBACK TO a;
		FETCH 5 FROM c;
		COMMIT;},
	'writes' => q{
		BEGIN;
		INSERT INTO written VALUES (1, 'one');
		INSERT INTO written VALUES (2, 'two'), (3, 'three');
		UPDATE written SET v = 'deux' WHERE id = 2;
		INSERT INTO log VALUES ('writes');
		COMMIT;},
	'reads, then writes' => q{
		BEGIN;
		SELECT count(*) FROM numbers;
		SELECT count(*) FROM numbers WHERE n = 1;
		INSERT INTO written SELECT id, name FROM numbers WHERE id < 4;
		INSERT INTO log VALUES ('writes');
		COMMIT;},
	'savepoints' => q{
		BEGIN;
		INSERT INTO written VALUES (1, 'one');
		SAVEPOINT a;
		INSERT INTO written VALUES (4, 'four');
		SAVEPOINT b;
		SELECT count(*) FROM written;
		ROLLBACK TO a;
		INSERT INTO written VALUES (2, 'two');
		RELEASE a;
		INSERT INTO written VALUES (3, 'three');
		INSERT INTO log VALUES ('writes');
		COMMIT;},
	'first use in a savepoint' => q{
		BEGIN;
		SAVEPOINT a;
		SAVEPOINT b;
		INSERT INTO written VALUES (4, 'four');
		ROLLBACK TO b;
		INSERT INTO written VALUES (1, 'one'), (2, 'two'), (3, 'three');
		RELEASE b;
		INSERT INTO log VALUES ('writes');
		COMMIT;},
	'repeatable read' => q{
		BEGIN ISOLATION LEVEL REPEATABLE READ;
		SELECT count(*) FROM numbers;
		SELECT count(*) FROM written;
		COMMIT;
		BEGIN ISOLATION LEVEL SERIALIZABLE;
		SELECT count(*) FROM numbers WHERE n = 3;
		INSERT INTO written VALUES (1, 'one'), (2, 'two'), (3, 'three');
		INSERT INTO log VALUES ('writes');
		COMMIT;},
	'batched join' => q{
		SET shuttle.debug_force_batched_join = on;
		SET shuttle.batch_size = 8;
		SELECT count(*), sum(b.id) FROM wanted a JOIN numbers b ON b.id = a.id;
		SELECT count(*), sum(b.id) FROM wanted a JOIN numbers b ON b.id = a.id;},
	'batched join with a limit' => q{
		SET shuttle.debug_force_batched_join = on;
		SET shuttle.batch_size = 4;
		SELECT b.id FROM wanted a JOIN numbers b ON b.id = a.id WHERE a.id > 2 LIMIT 5;
		SELECT b.id FROM wanted a JOIN numbers b ON b.id = a.id LIMIT 9;},
);

my $error = qr/column "injected" does not exist|prepared statement "injected" does not exist/;

# What one run may show, and whether node and log agree.
sub check_run
{
	my ($name, $position, $failed, $out, $err) = @_;
	my $label = "$name, statement $position ($failed)";
	my @problems;

	push @problems, 'session ended' if $out !~ /^next 3000 4501500$/m;
	push @problems, 'next statement' if $out !~ /^again number 9$/m;
	push @problems, 'shows what followed the error'
	  if $err =~ /25P02[^\n]*\n(?:[A-Z]+: [^\n]*\n)*CONTEXT:  storage node/;
	for my $line (grep { /ERROR|FATAL|PANIC/ } split /\n/, $err)
	{
		next if $line =~ $error || $line =~ /25P02/;
		next if $line =~ /40000: storage node "far" rolled the transaction back/ && $failed eq 'COMMIT';
		next if $line =~ /08006: connection to storage node "far" was lost/
		  && $failed =~ /^(ROLLBACK|RELEASE|SAVEPOINT s|SELECT pg_catalog.set_config)/;

		# savepoints and cursors of the session that are gone with the transaction
		next if $line =~ /3B001: savepoint|55000: portal "c" cannot be run|34000: cursor "c" does not exist/;
		push @problems, "unexpected: $line";
	}
	my ($committed) = $out =~ /^log (\d+)$/m;
	my ($written) = $out =~ /^written (\d+) (?:\d*)$/m;
	my $expected = $committed ? 3 : 0;
	push @problems, "wrote $written rows instead of $expected"
	  if defined $written && $written != $expected;
	push @problems, 'no count' unless defined $written;
	is(join('; ', @problems), '', $label) or diag("$out\n$err");
	return;
}

my $check = q{
	ROLLBACK;
	SELECT count(*) FROM numbers WHERE name = 'stop counting';
	SELECT 'next', count(*), sum(id) FROM (SELECT id FROM numbers OFFSET 0) x;
	SELECT 'again', name FROM numbers WHERE id = 9;
	SELECT 'log', count(*) FROM log;
	SELECT 'written', count(*), sum(id) FROM written;};

my ($here, $there) = map { ShuttleSession->new($node, $_) } 'postgres', 'far';
for my $name (sort keys %scenarios)
{
	for (my $position = 1; ; $position++)
	{
		$there->run('DELETE FROM written;');
		$here->run('DELETE FROM log;');
		$proxy->inject($position);
		my ($out, $err);
		$node->psql('postgres', "\\set VERBOSITY verbose\n$scenarios{$name}\n$check",
			stdout => \$out, stderr => \$err, on_error_stop => 0, timeout => 60,
			extra_params => [ '-F', ' ' ]);
		my ($statements, $failed) = $proxy->report;
		$failed = substr($failed, 0, 60);

		# what the check itself asks for is not of interest
		last if $failed eq '' || $position > 80;
		check_run($name, $position, $failed, $out, $err);
	}
}
$proxy->inject(0);
$_->quit for $here, $there;

# An error of its own at a row far down, in each way to read it: in pages that come
# as a whole, and in parts, some of which were read by then.
my $parts = "SET shuttle.fetch_size_limit = '100MB'; SET shuttle.fetch_ahead = '64kB'; SET work_mem = '64kB';";
for my $case ([ 10, '' ], [ 1000, '' ], [ 5000, '' ], [ 1000, $parts ], [ 5000, $parts ])
{
	my ($limit, $settings) = @$case;
	my $label = "pages of $limit" . ($settings ? ', in parts' : '');
	my $read = $settings ? 'count(q), sum(length(t)) FROM (SELECT q, t FROM broken_wide OFFSET 0) x' :
	  'count(q) FROM (SELECT q FROM broken OFFSET 0) x';
	my ($out, $err);
	$node->psql('postgres', qq{
		SET shuttle.fetch_limit = $limit;
		$settings
		BEGIN; SELECT $read; ROLLBACK;
		DO \$\$ BEGIN
			FOR i IN 1..3 LOOP
				BEGIN
					PERFORM $read;
				EXCEPTION WHEN division_by_zero THEN
					RAISE NOTICE 'caught %', i;
				END;
				PERFORM name FROM numbers WHERE id = i;
			END LOOP;
		END \$\$;
		SELECT count(*) FROM numbers;},
		stdout => \$out, stderr => \$err, on_error_stop => 0, timeout => 60);
	like($err, qr/division by zero.*caught 1.*caught 2.*caught 3/s, "row error, $label");
	like($out, qr/^3000$/m, "next statement, $label");
}

$node->stop;
done_testing();
