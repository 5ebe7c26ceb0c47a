// What node-postgres does with tables on several nodes; DSN says where.
const assert = require('node:assert');
const { Client, Pool } = require('pg');

async function main() {
  const client = new Client({ connectionString: process.env.DSN });
  await client.connect();
  const insert = 'INSERT INTO customer (name, doc) VALUES ($1, $2) RETURNING id';
  const { id } = (await client.query(insert, ['n', { a: [1, null] }])).rows[0];
  for (let i = 0; i < 8; i++) {
    const found = await client.query({ name: 'one', text: 'SELECT doc FROM customer WHERE id = $1', values: [id] });
    assert.deepStrictEqual(found.rows, [{ doc: { a: [1, null] } }]);
  }
  const many = 'INSERT INTO item (name) SELECT * FROM unnest($1::text[]) RETURNING id';
  assert.strictEqual((await client.query(many, [['x', 'y', 'z']])).rowCount, 3);
  await client.query('BEGIN');
  await client.query('INSERT INTO orders (customer_id, total) VALUES ($1, 1.50)', [id]);
  await client.query('SAVEPOINT s');
  await assert.rejects(client.query("INSERT INTO customer (id, name) VALUES ($1, 'again')", [id]), {
    code: '23505', constraint: 'customer_pkey', table: 'customer', schema: 'app',
  });
  await client.query('ROLLBACK TO s');
  await client.query('COMMIT');
  const sum = 'SELECT sum(total) FROM customer c JOIN orders o ON o.customer_id = c.id WHERE c.id = ANY($1::bigint[])';
  assert.deepStrictEqual((await client.query(sum, [[id]])).rows, [{ sum: '1.50' }]);
  await client.end();
  const pool = new Pool({ connectionString: process.env.DSN, max: 4 });
  const counts = await Promise.all(Array.from({ length: 40 }, () => pool.query('SELECT count(*) FROM orders')));
  assert(counts.every((one) => one.rows[0].count === '1'));
  await pool.end();
  console.log('ok');
}

main().catch((error) => { console.error(error); process.exit(1); });
