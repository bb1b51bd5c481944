package host

import (
	"context"
	"time"
)

// Signer lets callers put blobs into the store without the API.
type Signer interface {
	// UploadLink signs the upload of a blob of size bytes whose SHA-256 is sum (base64). The store accepts nothing else
	// under the link.
	UploadLink(ctx context.Context, key string, size int64, sum string, valid time.Duration) (UploadLink, error)
	// BeginParts begins the upload of a blob in parts and signs the upload of each part; id identifies the upload.
	BeginParts(ctx context.Context, key string, parts []Part, valid time.Duration) (id string, links []UploadLink, err error)
	// CompleteParts joins the parts of a blob; tags are the store's responses for each part. A repeated call changes
	// nothing.
	CompleteParts(ctx context.Context, key, id string, parts []Part, tags []string) error
	// Has reports whether a blob exists.
	Has(ctx context.Context, key string) (bool, error)
}

// UploadLink is a request that puts a blob, or a part of one, without credentials; its method is PUT.
type UploadLink struct {
	URL    string
	Header map[string]string // headers to send with the request
}

// Part is a part of a blob: its size in bytes, and its SHA-256 in base64.
type Part struct {
	Size int64
	Sum  string
}
