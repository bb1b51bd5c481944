package shared

import (
	"context"
	"io"
	"time"

	"zerodag/internal/s3"
)

// blobs keeps archives in a folder of a bucket, with links for clients if they are enabled.
type blobs struct {
	all *s3.Blobs
	in  Bucket
}

// Put implements host.Blobs.
func (b blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	return b.all.Put(ctx, b.in.Folder+key, r, size)
}

// Open implements host.Blobs.
func (b blobs) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	return b.all.Open(ctx, b.in.Folder+key)
}

// Delete implements host.Blobs.
func (b blobs) Delete(ctx context.Context, key string) error {
	return b.all.Delete(ctx, b.in.Folder+key)
}

// Link implements host.Blobs.
func (b blobs) Link(ctx context.Context, key string, valid time.Duration) (string, error) {
	if !b.in.Links {
		return "", nil
	}
	return b.all.Link(ctx, b.in.Folder+key, valid)
}
