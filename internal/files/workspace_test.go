package files

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"testing"

	"zerodag/internal/projectfiles"
	"zerodag/operators"
)

// archiveOf returns an archive with files that have these names and contents.
func archiveOf(t *testing.T, content map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range content {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnpackedByOneThatEnds proves that a run unpacks an archive itself if the run that was unpacking it is killed, and
// that the killed run's error is the kill.
func TestUnpackedByOneThatEnds(t *testing.T) {
	t.Parallel()
	archive, opened := archiveOf(t, map[string]string{"a.txt": "content"}), 0
	ctx, kill := context.WithCancel(t.Context())
	all, err := NewWorkspaces(t.TempDir(), 0, projectfiles.Limits{}, func(ctx context.Context, _ string) (io.ReadCloser, error) {
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
	second.from = all.take("key") // like a run that waits for the first
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

// TestServerDataIsNotUnpacked proves that an archive with a server's data, which was accepted before such archives were
// refused, is unpacked without it.
func TestServerDataIsNotUnpacked(t *testing.T) {
	t.Parallel()
	for name, archive := range map[string][]byte{
		"x/data":  archiveOf(t, map[string]string{"a.dig": "+a: {echo>: x}", "x/data/secret.key": "k", "x/data/zerodag.db": "x"}),
		"renamed": archiveOf(t, map[string]string{"renamed/blobs/1": "b", "renamed/SECRET.KEY": "k"}),
		".":       archiveOf(t, map[string]string{"zerodag.db": "x", "a.dig": "+a: {echo>: x}", "secret.key": "k"}),
	} {
		w, err := NewWorkspaces(t.TempDir(), 0, projectfiles.Limits{}, func(context.Context, string) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(archive)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		p, err := w.unpack(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		names, err := p.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if n != "a.dig" {
				t.Errorf("%s: a task finds %s", name, n)
			}
		}
	}
}
