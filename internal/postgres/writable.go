package postgres

import (
	"context"
	crypto "crypto/rand"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// probed is how many bytes must fit. Most of the bytes take new pages, because random bytes cannot be compressed.
	probed = 16 << 10
	// fullFor is how long a change that found no space counts: a probe may find room in its own table when other tables
	// have none.
	fullFor = 30 * time.Second
	// writableFor is how long a probe that succeeded counts: each one writes as much to the database's log as a few
	// tasks do.
	writableFor = 5 * time.Second
)

// Writable returns an error if the database cannot be written to now: it writes a part of a log and rolls that back.
// The error wraps syscall.ENOSPC if there is no space, and syscall.EROFS if nothing may be written.
func (db *DB) Writable(ctx context.Context) error {
	if full := time.Unix(0, db.full.Load()); time.Since(full) < fullFor {
		return fmt.Errorf("a change of %v: %w", full.UTC().Format(time.TimeOnly), syscall.ENOSPC)
	}
	if db.isClosed() {
		return errClosed
	}
	if time.Since(time.Unix(0, db.wrote.Load())) < writableFor {
		return nil
	}
	held, err := db.pool.Acquire(ctx)
	if err != nil {
		return translated(ctx, err)
	}
	defer held.Release()
	content := make([]byte, probed)
	crypto.Read(content)
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(db.connTo(ctx, held).finished("INSERT INTO @task_logs (attempt_id, name, part, content) VALUES (0, '', $1, $2)"), rand.Int64(), content) // #nosec G404 -- a name
	b.Queue("ROLLBACK")
	err = translated(ctx, held.SendBatch(ctx, b).Close())
	if err == nil {
		db.wrote.Store(time.Now().UnixNano())
	}
	return err
}
