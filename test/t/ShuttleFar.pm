# A server that reads itself over a proxy: database "postgres" is the query node,
# database "far" the storage node, the foreign server "far" between them.
#
#   my ($node, $proxy) = ShuttleFar::start(
#       'CREATE TABLE t (id int)',                  # run in far
#       conf => 'max_prepared_transactions = 5',    # more settings of the server
#       options => "shuttle_two_phase 'off'");      # more options of far
package ShuttleFar;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;

use ShuttleProxy;

sub start
{
	my ($far_sql, %more) = @_;
	my $node = PostgreSQL::Test::Cluster->new('main');
	$node->init;
	$node->append_conf('postgresql.conf', "session_preload_libraries = 'pg_shuttle'\njit = off");
	$node->append_conf('postgresql.conf', $more{conf}) if $more{conf};
	$node->start;
	my $proxy = ShuttleProxy->new($node);
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $options = join ', ', "host '127.0.0.1'", "port '@{[ $proxy->port ]}'", "dbname 'far'", $more{options} // ();

	$node->safe_psql('postgres', 'CREATE DATABASE far');
	$node->safe_psql('far', $far_sql);
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION pg_shuttle CASCADE;
		CREATE SERVER far FOREIGN DATA WRAPPER shuttle OPTIONS ($options);
		CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '$user');
	});
	return ($node, $proxy);
}

1;
