package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"zerodag/operators"
)

// TestUnpackedByOneThatEnds proves that a run whose archive is unpacked by another one, which is killed meanwhile, unpacks it itself; and that
// who is killed is told that.
func TestUnpackedByOneThatEnds(t *testing.T) {
	t.Parallel()
	archive, opened := tarball(t, file("a.txt", "content")), 0
	ctx, kill := context.WithCancel(t.Context())
	all, err := NewWorkspaces(t.TempDir(), Limits{}, func(ctx context.Context, _ string) (io.ReadCloser, error) {
		if opened++; opened == 1 {
			kill()
			return nil, ctx.Err()
		}
		return io.NopCloser(bytes.NewReader(archive)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { all.Close() })
	first := all.Of(ctx, "key", operators.Identity{}, nil)
	second := all.Of(t.Context(), "key", operators.Identity{}, nil)
	second.from = all.take("key") // as one that waits for the first
	if _, err := first.Read("a.txt"); !errors.Is(err, context.Canceled) {
		t.Errorf("the one that was killed: %v, want that it was canceled", err)
	}
	text, err := second.Read("a.txt")
	if string(text) != "content" || err != nil {
		t.Errorf("the one that waited: %q, %v", text, err)
	}
	if opened != 2 {
		t.Errorf("the archive was read %d times, want 2", opened)
	}
	first.Leave()
	second.Leave()
}
