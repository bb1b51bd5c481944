package shared

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/s3"
)

// blobs keeps archives in a folder of a bucket, with links for clients if they are enabled.
type blobs struct {
	all *s3.Blobs
	in  Bucket
}

// Put implements host.Blobs.
func (b blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	return archivesAway(b.all.Put(ctx, b.in.Folder+key, r, size))
}

// Open implements host.Blobs.
func (b blobs) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	archive, size, err := b.all.Open(ctx, b.in.Folder+key)
	return archive, size, archivesAway(err)
}

// archivesAway names the store in a bucket error, for callers of the API.
func archivesAway(err error) error {
	if errors.Is(err, host.ErrUnavailable) {
		return fmt.Errorf("%w: %w", host.ErrNoArchives, err)
	}
	return err
}

// Delete implements host.Blobs.
func (b blobs) Delete(ctx context.Context, key string) error {
	return archivesAway(b.all.Delete(ctx, b.in.Folder+key))
}

// Link implements host.Blobs.
func (b blobs) Link(ctx context.Context, key string, valid time.Duration) (string, error) {
	if !b.in.Links {
		return "", nil
	}
	return b.all.Link(ctx, b.in.Folder+key, valid)
}
