package embedded

import (
	"context"
	"os"
	"path/filepath"

	"zerodag/internal/files"
	"zerodag/internal/host"
)

// Vitals reports how full the server is.
func (e *Engine) Vitals(ctx context.Context) (host.Vitals, error) {
	v := host.Vitals{Free: files.Free(e.folder)}
	for _, ending := range []string{"", "-wal"} { // a store that is shared counts its own bytes
		if info, err := os.Stat(filepath.Join(e.database, DatabaseName+ending)); err == nil { // one in memory has none
			v.Database += info.Size()
		}
	}
	err := e.DB.Counts(ctx, &v)
	return v, err
}
