package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/sqlstore"
)

// Blobs keeps archives in a database: a host.Blobs for servers that share only the database.
type Blobs struct{ db *DB }

var _ host.Blobs = (*Blobs)(nil)

// NewBlobs returns the Blobs of an open database.
func NewBlobs(db *DB) *Blobs { return &Blobs{db} }

// blobPart is the number of bytes per row, and abandoned the age after which an unfinished blob counts as abandoned by
// its sender.
const (
	blobPart  = 256 << 10
	abandoned = 24 * time.Hour
)

// checkKey refuses the same keys as package files, because a key must be valid for every store of archives.
func checkKey(key string) error {
	if !fs.ValidPath(key) || key == "." || strings.HasPrefix(key, ".") || strings.Contains(key, "/.") || strings.ContainsAny(key, "\\\x00") {
		return fmt.Errorf("blob key %q is not a relative path", key)
	}
	return nil
}

// Put stores a blob: see host.Blobs. Its parts come first, each in a separate transaction, because the sender may be
// slow; it gets its key once all parts are there.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if _, err := b.find(ctx, key); err == nil || !errors.Is(err, host.ErrNotFound) {
		return err
	}
	id, err := b.begin(ctx, size)
	if err == nil {
		err = b.fill(ctx, id, r, size)
	}
	if err == nil {
		err = b.finish(ctx, id, key)
	}
	if err != nil && id != 0 {
		err = errors.Join(err, b.remove(context.WithoutCancel(ctx), id))
	}
	if err != nil {
		return fmt.Errorf("store blob %s: %w", key, err)
	}
	return nil
}

// begin creates a blob without a key, and removes abandoned blobs. If it is repeated, it leaves one more abandoned
// blob.
func (b *Blobs) begin(ctx context.Context, size int64) (id int64, err error) {
	err = b.db.alone(ctx, func(c *conn) (err error) {
		if _, err := c.Exec("DELETE FROM @blobs WHERE key IS NULL AND created_at < "+clock+" - $1", abandoned.Microseconds()); err != nil {
			return err
		}
		id, err = c.Insert("INSERT INTO @blobs (size, created_at) VALUES ($1, "+clock+")", size)
		return err
	})
	return id, err
}

// fill stores the parts. A repeated part is already stored with the same content.
func (b *Blobs) fill(ctx context.Context, id int64, r io.Reader, size int64) error {
	buffer := make([]byte, blobPart)
	in := io.LimitReader(r, size+1)
	total := int64(0)
	for part := int64(1); ; part++ {
		n, err := io.ReadFull(in, buffer)
		over := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !over {
			return err
		}
		if total += int64(n); total > size || over && total < size {
			return fmt.Errorf("it does not have the %d announced bytes", size)
		}
		if n > 0 {
			if err := b.db.alone(ctx, func(c *conn) error {
				_, err := c.Exec("INSERT INTO @blob_parts (blob_id, part, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", id, part, buffer[:n])
				return err
			}); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
	}
}

// finish gives a blob its key, unless another blob has it: in that case, the other one stays and this one is deleted.
func (b *Blobs) finish(ctx context.Context, id int64, key string) error {
	return b.db.write(ctx, func(c *conn) error {
		if _, err := c.Exec("SELECT pg_advisory_xact_lock($1)", hashOf("blob", b.db.schema, key)); err != nil {
			return err
		}
		_, taken, err := sqlstore.One(c, (*row).ID, "SELECT id FROM @blobs WHERE key = $1", key)
		if err != nil {
			return err
		}
		if taken {
			_, err := c.Exec("DELETE FROM @blobs WHERE id = $1", id)
			return err
		}
		n, err := c.Exec("UPDATE @blobs SET key = $2 WHERE id = $1", id, key)
		if err == nil && n == 0 {
			err = fmt.Errorf("it took more than %v, and its parts were removed", abandoned)
		}
		return err
	})
}

// remove deletes an unfinished blob.
func (b *Blobs) remove(ctx context.Context, id int64) error {
	return b.db.alone(ctx, func(c *conn) error {
		_, err := c.Exec("DELETE FROM @blobs WHERE id = $1 AND key IS NULL", id)
		return err
	})
}

// blob is a row of the blob table.
type blob struct{ id, size int64 }

func (b *Blobs) find(ctx context.Context, key string) (blob, error) {
	return sqlstore.ReadOne(ctx, b.db.Store, func(r *row) blob { return blob{r.ID(), r.ID()} }, sqlstore.Select("SELECT id, size FROM @blobs WHERE key = ?", key))
}

// Open reads a blob. The context applies to all reads.
func (b *Blobs) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if err := checkKey(key); err != nil {
		return nil, 0, err
	}
	x, err := b.find(ctx, key)
	if err != nil {
		return nil, 0, fmt.Errorf("open blob %s: %w", key, err)
	}
	return &parts{ctx: ctx, db: b.db, what: "blob " + key, args: []any{x.id}, last: (x.size + blobPart - 1) / blobPart,
		sql: "SELECT part, content FROM @blob_parts WHERE part > $1 AND part <= $2 AND blob_id = $4 ORDER BY part"}, x.size, nil
}

// Delete removes a blob; a missing blob is not an error.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return b.db.alone(ctx, func(c *conn) error {
		_, err := c.Exec("DELETE FROM @blobs WHERE key = $1", key)
		return err
	})
}

// Link returns no link because blobs are read through a server.
func (b *Blobs) Link(context.Context, string, time.Duration) (string, error) { return "", nil }
