// What pgjdbc does with tables on several nodes; DSN says where.
import java.sql.*;
import javax.sql.XAConnection;
import javax.transaction.xa.*;
import org.postgresql.util.PSQLException;
import org.postgresql.xa.PGXADataSource;

public class PgjdbcProgram {
	static void check(boolean holds, String what) {
		if (!holds)
			throw new AssertionError(what);
	}

	static int count(ResultSet rows) throws SQLException {
		int n = 0;
		while (rows.next())
			n++;
		return n;
	}

	static void writeMany(Connection c, String table) throws SQLException {
		PreparedStatement insert = c.prepareStatement("INSERT INTO " + table + " (name) VALUES (?)", new String[] {"id"});
		for (int i = 0; i < 100; i++) {
			insert.setString(1, "j" + i);
			insert.addBatch();
		}
		check(insert.executeBatch().length == 100, "batch");
		check(count(insert.getGeneratedKeys()) == 100, "generated keys");
	}

	static void read(Connection c) throws SQLException {
		PreparedStatement one = c.prepareStatement("SELECT name FROM customer WHERE id = ?");
		for (int i = 1; i <= 12; i++) {
			one.setLong(1, i);
			check(count(one.executeQuery()) == 1, "prepared on the server");
		}
		c.setAutoCommit(false);
		Statement all = c.createStatement();
		all.setFetchSize(17);
		check(count(all.executeQuery("SELECT id FROM customer ORDER BY id")) == 100, "fetch size");
		c.commit();
		c.setAutoCommit(true);
		ResultSet row = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)
			.executeQuery("SELECT id, name FROM customer WHERE id = 1");
		row.next();
		row.updateString("name", "updated");
		row.updateRow();
		row = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)
			.executeQuery("SELECT id, name FROM item WHERE id = 1");
		row.next();
		try {
			row.updateString("name", "updated");
			check(false, "a key that can be seen");
		} catch (PSQLException e) {
			check(e.getMessage().contains("unique key found"), e.getMessage());
		}
	}

	static void fail(Connection c) throws SQLException {
		c.setAutoCommit(false);
		Savepoint savepoint = c.setSavepoint();
		try {
			c.createStatement().execute("INSERT INTO orders (customer_id) VALUES (-1)");
			check(false, "foreign key");
		} catch (PSQLException e) {
			check(e.getServerErrorMessage().getConstraint().equals("orders_customer_id_fkey"), "constraint");
			c.rollback(savepoint);
		}
		c.commit();
		c.setAutoCommit(true);
	}

	static void reflect(Connection c) throws SQLException {
		DatabaseMetaData data = c.getMetaData();
		check(count(data.getPrimaryKeys(null, "app", "orders")) == 2, "primary key");
		check(count(data.getPrimaryKeys(null, "app", "item")) == 0, "of a foreign table");
		check(count(data.getImportedKeys(null, "app", "orders")) == 0, "foreign keys are on the nodes");
		check(count(data.getTables(null, "app", "orders", new String[] {"PARTITIONED TABLE"})) == 1, "table");
	}

	static Xid makeXid(int branch) {
		return new Xid() {
			public int getFormatId() { return 1; }
			public byte[] getGlobalTransactionId() { return new byte[] {1}; }
			public byte[] getBranchQualifier() { return new byte[] {(byte) branch}; }
		};
	}

	static void xa(String url) throws Exception {
		PGXADataSource source = new PGXADataSource();
		source.setUrl(url);
		XAConnection connection = source.getXAConnection();
		XAResource resource = connection.getXAResource();
		for (int branch = 1; branch <= 3; branch++) {
			Xid xid = makeXid(branch);

			resource.start(xid, XAResource.TMNOFLAGS);
			connection.getConnection().createStatement().execute("INSERT INTO customer (name) VALUES ('xa')");
			resource.end(xid, XAResource.TMSUCCESS);
			if (branch == 1)
				resource.commit(xid, true);
			else
				check(resource.prepare(xid) == XAResource.XA_OK, "prepared");
		}
		connection.close();
		resource = source.getXAConnection().getXAResource();
		check(resource.recover(XAResource.TMSTARTRSCAN).length == 2, "recovered");
		resource.commit(makeXid(2), false);
		resource.rollback(makeXid(3));
		check(resource.recover(XAResource.TMSTARTRSCAN).length == 0, "ended");
		try (Connection c = source.getConnection()) {
			check(count(c.createStatement().executeQuery("SELECT FROM customer WHERE name = 'xa'")) == 2, "xa");
		}
	}

	public static void main(String[] arguments) throws Exception {
		String url = System.getenv("DSN").replaceFirst("^postgresql://(\\w+)@([^?]*)\\?", "jdbc:postgresql://$2?user=$1&currentSchema=app&");
		try (Connection c = DriverManager.getConnection(url + "&reWriteBatchedInserts=true&prepareThreshold=1")) {
			writeMany(c, "customer");
			writeMany(c, "item");
			read(c);
			fail(c);
			reflect(c);
		}
		xa(url);
		System.out.println("ok");
	}
}
