package cli

import (
	"context"
	"fmt"
	"os"

	"zerodag/internal/client"
)

// SendArchive sends an archive.
func (r *Remote) SendArchive(ctx context.Context, p client.Push, archive *os.File) (client.Project, error) {
	defer r.Watch(r.Client)()
	info, err := archive.Stat()
	if err != nil {
		return client.Project{}, fmt.Errorf("read archive: %w", err)
	}
	return r.Push(ctx, p, archive, info.Size())
}
