package hosttest

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// blobsSuite checks a host.Blobs.
func blobsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{
		"put and open":                    blobsKeep,
		"keys are written once":           blobsOnce,
		"incomplete blobs are not stored": blobsShort,
		"invalid keys are rejected":       blobsKeys,
		"delete":                          blobsDelete,
	}.Run(t, h)
}

func readAll(t *testing.T, r io.ReadCloser, size int64, err error) string {
	t.Helper()
	suite.Must(t, err)
	defer r.Close()
	content := suite.Got(io.ReadAll(r))(t)
	if int64(len(content)) != size {
		t.Errorf("got %d bytes, want %d", len(content), size)
	}
	return string(content)
}

func blob(t *testing.T, s suite.Stores, key string) string {
	t.Helper()
	r, size, err := s.Blobs.Open(t.Context(), key)
	return readAll(t, r, size, err)
}

func put(ctx context.Context, s suite.Stores, key, content string) error {
	return s.Blobs.Put(ctx, key, strings.NewReader(content), int64(len(content)))
}

func blobsKeep(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	_, _, err := s.Blobs.Open(ctx, "a/b.tar.gz")
	suite.WantError(t, "open an unknown key", err, host.ErrNotFound)
	large := strings.Repeat("0123456789", 300_000)
	suite.Must(t, put(ctx, s, "a/b.tar.gz", large))
	suite.Must(t, put(ctx, s, "empty", ""))
	if blob(t, s, "a/b.tar.gz") != large || blob(t, s, "empty") != "" {
		t.Error("the content of a blob differs from what was stored")
	}
	_, _, err = s.Blobs.Open(ctx, "a")
	suite.WantError(t, "open the first part of a key", err, host.ErrNotFound)
}

func blobsOnce(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	var all sync.WaitGroup
	for _, content := range []string{"one", "two"} {
		all.Go(func() {
			for range 10 {
				if err := put(ctx, s, "k", content); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	first := blob(t, s, "k")
	suite.Must(t, put(ctx, s, "k", "three"))
	if now := blob(t, s, "k"); now != first || now != "one" && now != "two" {
		t.Errorf("got blob %q first and %q later, want the same", first, now)
	}
}

func blobsShort(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	for name, size := range map[string]int64{"short": 11, "long": 9} {
		if err := s.Blobs.Put(ctx, name, strings.NewReader("0123456789"), size); err == nil {
			t.Errorf("stored 10 bytes announced as %d, want an error", size)
		}
		_, _, err := s.Blobs.Open(ctx, name)
		suite.WantError(t, "open "+name, err, host.ErrNotFound)
	}
	broken := errors.New("broken")
	err := s.Blobs.Put(ctx, "broken", io.MultiReader(strings.NewReader("01234"), failing{broken}), 10)
	suite.WantError(t, "put a broken stream", err, broken)
	_, _, err = s.Blobs.Open(ctx, "broken")
	suite.WantError(t, "open the incomplete blob", err, host.ErrNotFound)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func blobsKeys(t *testing.T, s suite.Stores) {
	for _, key := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "a/../b", "a\x00b"} {
		if err := put(t.Context(), s, key, "x"); err == nil {
			t.Errorf("stored the invalid key %q, want an error", key)
		}
		if r, _, err := s.Blobs.Open(t.Context(), key); err == nil {
			r.Close()
			t.Errorf("opened the invalid key %q, want an error", key)
		}
	}
}

func blobsDelete(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, put(ctx, s, "a/b", "x"))
	suite.Must(t, s.Blobs.Delete(ctx, "a/b"))
	suite.Must(t, s.Blobs.Delete(ctx, "a/b"))
	_, _, err := s.Blobs.Open(ctx, "a/b")
	suite.WantError(t, "open after the delete", err, host.ErrNotFound)
}
