package host

import (
	"context"
	"time"
)

// Signer lets callers put blobs into the store past the API.
type Signer interface {
	// UploadLink signs the upload of a blob of size bytes whose SHA-256 is sum (base64). The store
	// takes nothing else under it.
	UploadLink(ctx context.Context, key string, size int64, sum string, valid time.Duration) (UploadLink, error)
	// BeginParts begins the upload of a blob in parts and signs that of each; id names the upload.
	BeginParts(ctx context.Context, key string, parts []Part, valid time.Duration) (id string, links []UploadLink, err error)
	// CompleteParts makes a blob of its parts; tags are what the store answered for each. Repeated
	// it changes nothing.
	CompleteParts(ctx context.Context, key, id string, parts []Part, tags []string) error
	// Has reports whether a blob is there.
	Has(ctx context.Context, key string) (bool, error)
}

// UploadLink is a request that puts a blob, or a part of one, without credentials: the method
// is PUT.
type UploadLink struct {
	URL    string
	Header map[string]string // to be sent with it
}

// Part is a part of a blob: how many bytes, and their SHA-256 in base64.
type Part struct {
	Size int64
	Sum  string
}
