// What pgx does with tables on several nodes; DSN says where.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func writeMany(ctx context.Context, c *pgx.Conn) {
	batch := &pgx.Batch{}
	for i := 0; i < 50; i++ {
		batch.Queue("INSERT INTO customer (name, doc) VALUES ($1, $2)", fmt.Sprint("g", i), map[string]int{"n": i})
	}
	must(c.SendBatch(ctx, batch).Close())
	for _, table := range []string{"customer", "item"} {
		n, err := c.CopyFrom(ctx, pgx.Identifier{table}, []string{"name"},
			pgx.CopyFromSlice(100, func(i int) ([]any, error) { return []any{fmt.Sprint("c", i)}, nil }))
		must(err)
		if n != 100 {
			log.Fatal("copied ", n)
		}
	}
}

func read(ctx context.Context, c *pgx.Conn) {
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
	for _, mode := range modes {
		for id := 1; id <= 8; id++ {
			var name string
			must(c.QueryRow(ctx, "SELECT name FROM customer WHERE id = $1", mode, id).Scan(&name))
		}
	}
	rows, err := c.Query(ctx, "SELECT id FROM customer WHERE id = ANY($1)", []int64{1, 2, 3})
	must(err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	must(err)
	if len(found) != 3 {
		log.Fatal("found ", found)
	}
}

func fail(ctx context.Context, c *pgx.Conn) {
	transaction, err := c.Begin(ctx)
	must(err)
	savepoint, err := transaction.Begin(ctx)
	must(err)
	_, err = savepoint.Exec(ctx, "INSERT INTO orders (customer_id) VALUES (-1)")
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.ConstraintName != "orders_customer_id_fkey" {
		log.Fatal(err)
	}
	must(savepoint.Rollback(ctx))
	_, err = transaction.Exec(ctx, "INSERT INTO orders (customer_id, total) VALUES (1, 3)")
	must(err)
	must(transaction.Commit(ctx))
}

func main() {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, os.Getenv("DSN"))
	must(err)
	defer c.Close(ctx)
	writeMany(ctx, c)
	read(ctx, c)
	fail(ctx, c)
	fmt.Println("ok")
}
