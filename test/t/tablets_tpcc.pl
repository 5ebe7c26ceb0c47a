# A kit for TPC-C builds its schema with the functions of Citus: nine tables, rows by COPY,
# unique indexes, functions. Calls of each function leave conditions 1 to 4 of TPC-C true.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $nwarehouses = 3;
my ($ndistricts, $ncustomers, $nitems) = (10, 30, 100);
my $now = '2026-01-01T12:00:00+0000';
srand(1);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_shuttle'\nmax_prepared_transactions = 20\nshuttle.tablets = 4");
$node->start;
my $user = $node->safe_psql('postgres', 'SELECT current_user');

$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(tpcc n1 n2);
$node->safe_psql('tpcc', 'CREATE EXTENSION pg_shuttle CASCADE');
$node->safe_psql('tpcc', qq{
	CREATE SERVER $_ FOREIGN DATA WRAPPER shuttle OPTIONS (host '@{[ $node->host ]}', port '@{[ $node->port ]}', dbname '$_');
	CREATE USER MAPPING FOR PUBLIC SERVER $_ OPTIONS (user '$user');
	SELECT shuttle.use_node('$_');
}) for qw(n1 n2);
$node->safe_psql('tpcc', 'SELECT shuttle.install_citus_names()');

# the tables, each statement for itself
my $address = 'street_1 varchar(20) NOT NULL, X_street_2 varchar(20) NOT NULL, X_city varchar(20) NOT NULL, X_state char(2) NOT NULL, X_zip char(9) NOT NULL';
my ($w_address, $d_address, $c_address) = map { my $t = "X_$address"; $t =~ s/X_/$_/g; $t } qw(w_ d_ c_);
my $dists = join(', ', map { sprintf 's_dist_%02d char(24) NOT NULL', $_ } 1 .. 10);
$node->safe_psql('tpcc', $_) for (
	"CREATE TABLE customer (c_since timestamptz NOT NULL, c_id int NOT NULL, c_w_id int NOT NULL, c_d_id smallint NOT NULL,
		c_payment_cnt smallint NOT NULL, c_delivery_cnt smallint NOT NULL, c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL,
		c_last varchar(16) NOT NULL, $c_address, c_phone char(16) NOT NULL, c_credit char(2) NOT NULL,
		c_credit_lim numeric(12,2) NOT NULL, c_discount numeric(4,4) NOT NULL, c_balance numeric(12,2) NOT NULL,
		c_ytd_payment numeric(12,2) NOT NULL, c_data varchar(500) NOT NULL, CONSTRAINT customer_i1 PRIMARY KEY (c_w_id, c_d_id, c_id))",
	"CREATE TABLE district (d_w_id int NOT NULL, d_next_o_id int NOT NULL, d_id smallint NOT NULL, d_ytd numeric(12,2) NOT NULL,
		d_tax numeric(4,4) NOT NULL, d_name varchar(10) NOT NULL, $d_address, CONSTRAINT district_i1 PRIMARY KEY (d_w_id, d_id))",
	'CREATE TABLE history (h_date timestamptz NOT NULL, h_c_id int, h_c_w_id int NOT NULL, h_w_id int NOT NULL,
		h_c_d_id smallint NOT NULL, h_d_id smallint NOT NULL, h_amount numeric(6,2) NOT NULL, h_data varchar(24) NOT NULL)',
	'CREATE TABLE item (i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL, i_price numeric(5,2) NOT NULL,
		i_data varchar(50) NOT NULL, CONSTRAINT item_i1 PRIMARY KEY (i_id))',
	"CREATE TABLE warehouse (w_id int NOT NULL, w_name varchar(10) NOT NULL, $w_address, w_tax numeric(4,4) NOT NULL,
		w_ytd numeric(16,2) NOT NULL, CONSTRAINT warehouse_i1 PRIMARY KEY (w_id))",
	"CREATE TABLE stock (s_i_id int NOT NULL, s_w_id int NOT NULL, s_ytd int NOT NULL, s_quantity smallint NOT NULL,
		s_order_cnt smallint NOT NULL, s_remote_cnt smallint NOT NULL, $dists, s_data varchar(50) NOT NULL,
		CONSTRAINT stock_i1 PRIMARY KEY (s_i_id, s_w_id))",
	'CREATE TABLE new_order (no_w_id int NOT NULL, no_o_id int NOT NULL, no_d_id smallint NOT NULL,
		CONSTRAINT new_order_i1 PRIMARY KEY (no_w_id, no_d_id, no_o_id))',
	'CREATE TABLE orders (o_entry_d timestamptz NOT NULL, o_id int NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL,
		o_d_id smallint NOT NULL, o_carrier_id smallint, o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL,
		CONSTRAINT orders_i1 PRIMARY KEY (o_w_id, o_d_id, o_id))',
	'CREATE TABLE order_line (ol_delivery_d timestamptz, ol_o_id int NOT NULL, ol_w_id int NOT NULL, ol_i_id int NOT NULL,
		ol_supply_w_id int NOT NULL, ol_d_id smallint NOT NULL, ol_number smallint NOT NULL, ol_quantity smallint NOT NULL,
		ol_amount numeric(6,2), ol_dist_info char(24), CONSTRAINT order_line_i1 PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))',
	q{SELECT create_distributed_table('customer', 'c_w_id')},
	q{SELECT create_distributed_table('district', 'd_w_id')},
	q{SELECT create_distributed_table('history', 'h_w_id')},
	q{SELECT create_distributed_table('warehouse', 'w_id')},
	q{SELECT create_distributed_table('stock', 's_w_id')},
	q{SELECT create_distributed_table('new_order', 'no_w_id')},
	q{SELECT create_distributed_table('orders', 'o_w_id')},
	q{SELECT create_distributed_table('order_line', 'ol_w_id')},
	q{SELECT create_reference_table('item')});
is($node->safe_psql('tpcc', 'SELECT kind, count(*), count(DISTINCT group_id) FROM shuttle.tables GROUP BY 1 ORDER BY 1'),
	"distributed|8|1\nreference|1|0", 'eight tables in one group, and a reference table');

sub text
{
	my ($length) = @_;
	return join('', map { chr(97 + int(rand(26))) } 1 .. $length);
}

sub address { return (text(10), text(12), text(8), 'ST', '123411111'); }

# Loads rows as a kit does: COPY of the named columns from CSV.
sub copy
{
	my ($columns, @rows) = @_;
	my $csv = join('', map { join(',', map { $_ // '' } @$_) . "\n" } @rows);
	$node->safe_psql('tpcc', "BEGIN;\nCOPY $columns FROM STDIN WITH (FORMAT CSV);\n$csv\\.\nCOMMIT;");
	return;
}

copy('item (i_id, i_im_id, i_name, i_price, i_data)',
	map { [ $_, $_ * 7, text(14), sprintf('%.2f', 1 + rand(99)), text(30) ] } 1 .. $nitems);
for my $w (1 .. $nwarehouses)
{
	my $address = join(', ', map { "'$_'" } address());
	$node->safe_psql('tpcc', "insert into warehouse (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd)
		values ('$w', 'ware$w', $address, '.12', '300000.00')");
	copy('stock (s_i_id, s_w_id, s_quantity, ' . join(', ', map { sprintf 's_dist_%02d', $_ } 1 .. 10) . ', s_data, s_ytd, s_order_cnt, s_remote_cnt)',
		map { [ $_, $w, 10 + int(rand(90)), (map { text(24) } 1 .. 10), text(26), 0, 0, 0 ] } 1 .. $nitems);
	$node->safe_psql('tpcc', join(';', map {
		"insert into district (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax, d_ytd, d_next_o_id)
		values ('$_', '$w', 'dist$_', $address, '.15', '30000.0', '@{[ $ncustomers + 1 ]}')" } 1 .. $ndistricts));
	my (@customers, @history, @orders, @new_orders, @lines);
	for my $d (1 .. $ndistricts)
	{
		for my $c (1 .. $ncustomers)
		{
			my $is_new = $c > $ncustomers * 0.7;
			my $nlines = 5 + int(rand(11));
			push @customers, [ $c, $d, $w, text(8), 'OE', 'NAME' . $c % 10, address(), '0123456789012345', $now,
				$c % 10 ? 'GC' : 'BC', 50000, 0.1, -10, text(300), 10, 1, 0 ];
			push @history, [ $c, $d, $w, $w, $d, $now, 10, text(12) ];
			push @orders, [ $c, $ncustomers + 1 - $c, $d, $w, $now, $is_new ? undef : 5, $nlines, 1 ];
			push @new_orders, [ $c, $d, $w ] if $is_new;
			push @lines, map { [ $c, $d, $w, $_, 1 + int(rand($nitems)), $w, 5, $is_new ? 5.5 : 0, text(24), $is_new ? undef : $now ] } 1 .. $nlines;
		}
	}
	copy('customer (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
		c_credit, c_credit_lim, c_discount, c_balance, c_data, c_ytd_payment, c_payment_cnt, c_delivery_cnt)', @customers);
	copy('history (h_c_id, h_c_d_id, h_c_w_id, h_w_id, h_d_id, h_date, h_amount, h_data)', @history);
	copy('orders (o_id, o_c_id, o_d_id, o_w_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)', @orders);
	copy('new_order (no_o_id, no_d_id, no_w_id)', @new_orders);
	copy('order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info, ol_delivery_d)', @lines);
}
$node->safe_psql('tpcc', $_) for (
	'CREATE UNIQUE INDEX customer_i2 ON customer USING btree (c_w_id, c_d_id, c_last, c_first, c_id)',
	'CREATE UNIQUE INDEX orders_i2 ON orders USING btree (o_w_id, o_d_id, o_c_id, o_id)');

# the functions
$node->safe_psql('tpcc', $_) for (
	q{CREATE OR REPLACE FUNCTION dbms_random (int, int) RETURNS int AS $$
		BEGIN
			RETURN trunc(random() * ($2 - $1 + 1) + $1);
		END $$ LANGUAGE plpgsql STRICT},
	q{CREATE OR REPLACE FUNCTION neword (no_w_id int, no_max_w_id int, no_d_id int, no_c_id int, no_o_ol_cnt int, fails bool) RETURNS numeric AS $$
		DECLARE
			discount numeric; rate numeric; order_id int; district_rate numeric;
			items int[]; supplies int[]; quantities int[]; infos text[]; amounts numeric[]; nfound int;
		BEGIN
			SELECT c_discount, w_tax INTO discount, rate FROM customer, warehouse
				WHERE w_id = no_w_id AND c_w_id = no_w_id AND c_d_id = no_d_id AND c_id = no_c_id;
			UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = no_d_id AND d_w_id = no_w_id
				RETURNING d_next_o_id - 1, d_tax INTO order_id, district_rate;
			SELECT array_agg(i), array_agg(CASE WHEN dbms_random(1, 10) > 1 THEN no_w_id ELSE dbms_random(1, no_max_w_id) END),
				array_agg(dbms_random(1, 10)) INTO items, supplies, quantities
				FROM (SELECT i FROM generate_series(1, 100) AS i ORDER BY random() LIMIT no_o_ol_cnt) AS chosen;
			IF fails THEN
				items[no_o_ol_cnt] := 100001;
			END IF;
			INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
				VALUES (order_id, no_d_id, no_w_id, no_c_id, current_timestamp, no_o_ol_cnt,
					CASE WHEN no_w_id = ALL (supplies) THEN 1 ELSE 0 END);
			INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_id, no_d_id, no_w_id);
			WITH changed AS (
				UPDATE stock SET s_ytd = s_ytd + l.quantity, s_order_cnt = s_order_cnt + 1,
					s_remote_cnt = s_remote_cnt + CASE WHEN l.supply = no_w_id THEN 0 ELSE 1 END,
					s_quantity = CASE WHEN s_quantity >= l.quantity + 10 THEN s_quantity - l.quantity ELSE s_quantity - l.quantity + 91 END
				FROM unnest(items, supplies, quantities) AS l (item, supply, quantity)
				WHERE s_i_id = l.item AND s_w_id = l.supply
				RETURNING s_i_id, s_w_id, l.quantity, s_dist_01)
			SELECT count(*), array_agg(s_i_id ORDER BY s_i_id), array_agg(s_w_id ORDER BY s_i_id), array_agg(quantity ORDER BY s_i_id),
				array_agg(s_dist_01 ORDER BY s_i_id), array_agg(quantity * i_price ORDER BY s_i_id)
				INTO nfound, items, supplies, quantities, infos, amounts FROM changed JOIN item ON i_id = s_i_id;
			IF nfound < no_o_ol_cnt THEN
				RAISE no_data_found;
			END IF;
			INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
				SELECT order_id, no_d_id, no_w_id, n, item, supply, quantity, amount, info
				FROM unnest(items, supplies, quantities, amounts, infos) WITH ORDINALITY AS l (item, supply, quantity, amount, info, n);
			RETURN (SELECT sum(a) FROM unnest(amounts) AS a) * (1 + rate + district_rate) * (1 - discount);
		EXCEPTION WHEN serialization_failure OR deadlock_detected OR no_data_found THEN
			RETURN NULL;
		END $$ LANGUAGE plpgsql},
	q{CREATE OR REPLACE FUNCTION delivery (int, int) RETURNS int AS $$
		DECLARE
			ndelivered int := 0; order_id int; customer_id int; total numeric;
		BEGIN
			FOR district IN 1 .. 10 LOOP
				SELECT no_o_id INTO order_id FROM new_order WHERE no_w_id = $1 AND no_d_id = district ORDER BY no_o_id LIMIT 1;
				CONTINUE WHEN NOT FOUND;
				DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = district AND no_o_id = order_id;
				UPDATE orders SET o_carrier_id = $2 WHERE o_id = order_id AND o_d_id = district AND o_w_id = $1
					RETURNING o_c_id INTO customer_id;
				UPDATE order_line SET ol_delivery_d = current_timestamp WHERE ol_o_id = order_id AND ol_d_id = district AND ol_w_id = $1;
				SELECT sum(ol_amount) INTO total FROM order_line WHERE ol_o_id = order_id AND ol_d_id = district AND ol_w_id = $1;
				UPDATE customer SET c_balance = c_balance + total, c_delivery_cnt = c_delivery_cnt + 1
					WHERE c_id = customer_id AND c_d_id = district AND c_w_id = $1;
				ndelivered := ndelivered + 1;
			END LOOP;
			RETURN ndelivered;
		END $$ LANGUAGE plpgsql},
	q{CREATE OR REPLACE FUNCTION payment (w int, d int, customer_w int, customer_d int, id int, name text, amount numeric) RETURNS int AS $$
		DECLARE
			w_name text; d_name text; chosen record; places int;
			by_name CURSOR FOR SELECT c_id, c_credit FROM customer
				WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_last = name ORDER BY c_first;
		BEGIN
			UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING warehouse.w_name INTO w_name;
			UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d RETURNING district.d_name INTO d_name;
			IF name IS NULL THEN
				SELECT c_id, c_credit INTO chosen FROM customer WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = id;
			ELSE
				SELECT (count(*) + 1) / 2 INTO places FROM customer WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_last = name;
				OPEN by_name;
				FOR i IN 1 .. places LOOP
					FETCH by_name INTO chosen;
				END LOOP;
				CLOSE by_name;
			END IF;
			UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount, c_payment_cnt = c_payment_cnt + 1,
				c_data = CASE WHEN chosen.c_credit = 'BC' THEN left(concat_ws(' ', chosen.c_id, customer_d, customer_w, d, w, amount) || c_data, 500) ELSE c_data END
				WHERE c_w_id = customer_w AND c_d_id = customer_d AND c_id = chosen.c_id;
			INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
				VALUES (customer_d, customer_w, chosen.c_id, d, w, current_timestamp, amount, w_name || ' ' || d_name);
			RETURN chosen.c_id;
		END $$ LANGUAGE plpgsql},
	q{CREATE OR REPLACE FUNCTION ostat (int, int, int) RETURNS SETOF record AS $$
		DECLARE
			last_order int; line record;
		BEGIN
			SELECT o_id INTO last_order FROM (SELECT o_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC) AS o LIMIT 1;
			FOR line IN SELECT ol_i_id, ol_supply_w_id, ol_quantity FROM order_line
				WHERE ol_o_id = last_order AND ol_d_id = $2 AND ol_w_id = $1 LOOP
				RETURN NEXT line;
			END LOOP;
		END $$ LANGUAGE plpgsql},
	q{CREATE OR REPLACE FUNCTION slev (int, int, int) RETURNS int AS $$
		DECLARE
			n int;
		BEGIN
			SELECT count(DISTINCT s_i_id) INTO n FROM order_line, stock, district
				WHERE ol_w_id = $1 AND ol_d_id = $2 AND d_w_id = $1 AND d_id = $2 AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
					AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $3;
			RETURN n;
		END $$ LANGUAGE plpgsql},
	q{SELECT create_distributed_function('dbms_random(int,int)')},
	q{SELECT create_distributed_function(oid, '$1', colocate_with := 'warehouse') FROM pg_catalog.pg_proc
		WHERE proname IN ('neword', 'delivery', 'payment', 'ostat', 'slev')},
	'ANALYZE');

# each query returns the districts, or warehouses, where its condition is not true
my @conditions = (
	'SELECT w_id FROM warehouse JOIN district ON d_w_id = w_id GROUP BY w_id, w_ytd HAVING w_ytd <> sum(d_ytd)',
	'SELECT d_w_id, d_id FROM district
		WHERE d_next_o_id - 1 IS DISTINCT FROM (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
			OR d_next_o_id - 1 IS DISTINCT FROM (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)',
	'SELECT no_w_id, no_d_id FROM new_order GROUP BY 1, 2 HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)',
	'SELECT * FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS n FROM orders GROUP BY 1, 2) AS o
		FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS n FROM order_line GROUP BY 1, 2) AS l ON o_w_id = ol_w_id AND o_d_id = ol_d_id
		WHERE o.n IS DISTINCT FROM l.n');

sub check_conditions
{
	my ($when) = @_;
	is($node->safe_psql('tpcc', $conditions[ $_ - 1 ]), '', "condition $_ $when") for 1 .. @conditions;
	return;
}

check_conditions('behind the load');
my $districts = "generate_series(1, $nwarehouses) AS w, generate_series(1, $ndistricts) AS d";
my $norders = 'SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM new_order)';
my $before = $nwarehouses * $ndistricts * $ncustomers;
is($node->safe_psql('tpcc', "SELECT count(neword(w, $nwarehouses, d, d + w, 5 + d, false)) FROM $districts"),
	$nwarehouses * $ndistricts, 'neword');
is($node->safe_psql('tpcc', "SELECT neword(2, $nwarehouses, 3, 4, 9, true)"), '', 'neword of an unknown item is rolled back');
is($node->safe_psql('tpcc', $norders), join('|', $before * 31 / 30, $before * 10 / 30), 'orders');
is($node->safe_psql('tpcc', "SELECT sum(delivery(w, 7)) FROM generate_series(1, $nwarehouses) AS w"), $nwarehouses * $ndistricts, 'delivery');
is($node->safe_psql('tpcc', $norders), join('|', $before * 31 / 30, $before * 9 / 30), 'new orders');
is($node->safe_psql('tpcc', "SELECT count(payment(w, d, w, d, d, NULL, 12.5)) FROM $districts"), $nwarehouses * $ndistricts, 'payment');
is($node->safe_psql('tpcc', "SELECT count(payment(w, d, 1 + w % $nwarehouses, d, NULL, 'NAME3', 3)) FROM $districts"), $nwarehouses * $ndistricts, 'payment by name, of another warehouse');
is($node->safe_psql('tpcc', 'SELECT sum(w_ytd), (SELECT sum(h_amount) FROM history) FROM warehouse'),
	join('|', $nwarehouses * 300_000 + $nwarehouses * $ndistricts * 15.5 . '.00', $before * 10 + $nwarehouses * $ndistricts * 15.5 . '.00'), 'amounts');
is($node->safe_psql('tpcc', 'SELECT count(*) FROM ostat(2, 3, 5) AS o (item int, supply int, quantity smallint)'), '8', 'ostat');
is($node->safe_psql('tpcc', 'SELECT slev(1, 1, 1000) > 30'), 't', 'slev');
check_conditions('behind the calls');
is($node->safe_psql('tpcc', 'SELECT * FROM shuttle.check()'), '', 'check');
done_testing();
