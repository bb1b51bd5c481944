package embedded

import (
	"context"

	"zerodag/internal/files"
	"zerodag/internal/host"
)

// Vitals reports how full the server is.
func (e *Engine) Vitals(ctx context.Context) (host.Vitals, error) {
	v := host.Vitals{Free: files.Free(e.folder)}
	err := e.DB.Counts(ctx, &v)
	return v, err
}
