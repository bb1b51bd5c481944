package api

import (
	"context"
	"net/http"
	"strings"

	"zerodag/engine/param"
)

// Object returns the metadata of an object in Cloud Storage as an Object resource; nil if the object or the bucket does
// not exist.
func (c *Client) Object(ctx context.Context, bucket, object string) (*param.Map, error) {
	base := c.Storage
	if base == "" {
		base = storageAddress
	}
	found, err := c.read(ctx, request{method: http.MethodGet, base: strings.TrimSuffix(base, "/"), path: pathOf("/storage/v1", "b", bucket, "o", object)})
	if Is(err, http.StatusNotFound) {
		return nil, nil
	}
	return found, err
}
