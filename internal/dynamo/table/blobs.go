package table

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"zerodag/internal/host"
)

// Blobs stores parts that are too large for an item. A key is written once.
type Blobs interface {
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	Open(ctx context.Context, key string) (io.ReadCloser, int64, error)
	Delete(ctx context.Context, key string) error
}

// ReadBlob reads a part that was too large for its item.
func (t *Table) ReadBlob(ctx context.Context, key string) ([]byte, error) {
	r, _, err := t.Blobs.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, host.ErrUnavailable)
	}
	return b, nil
}

// PutBlob stores a part under the attempt's own prefix, under a name derived from its content, so that two writers of
// the same entry do not overwrite each other.
func (t *Table) PutBlob(ctx context.Context, attempt int64, b []byte) (string, error) {
	return t.putNamed(ctx, fmt.Sprintf("log/%d/", attempt), b)
}

// PutArchive stores a final state that does not expire.
func (t *Table) PutArchive(ctx context.Context, attempt int64, b []byte) (string, error) {
	return t.putNamed(ctx, StatePrefix(attempt), b)
}

// StatePrefix is the prefix of data that stays as long as an attempt's row.
func StatePrefix(attempt int64) string { return fmt.Sprintf("state/%d/", attempt) }

func (t *Table) putNamed(ctx context.Context, prefix string, b []byte) (string, error) {
	sum := sha256.Sum256(b)
	blob := fmt.Sprintf("%s%x", prefix, sum[:16])
	if err := t.Blobs.Put(ctx, blob, bytes.NewReader(b), int64(len(b))); err != nil {
		return "", fmt.Errorf("store %s: %w", blob, err)
	}
	return blob, nil
}

// SetLarge stores b in the item or, if it is too large for that, in a blob.
func (t *Table) SetLarge(ctx context.Context, it Item, name, blobName, prefix string, b []byte, largest int) error {
	if len(b) <= largest {
		it[name] = Bytes(b)
		return nil
	}
	blob, err := t.putNamed(ctx, prefix, b)
	it.SetStr(blobName, blob)
	return err
}

// Large reads what SetLarge stored.
func (t *Table) Large(ctx context.Context, it Item, name, blobName string) ([]byte, error) {
	b := it.Bytes(name)
	if blob := it.Str(blobName); blob != "" {
		var err error
		if b, err = t.ReadBlob(ctx, blob); err != nil {
			return nil, err
		}
	}
	return Unpack(b)
}
