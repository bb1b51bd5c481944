package embedded_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"zerodag/internal/embedded"
)

// remover removes a file once some bytes have been written, as retention might do during a backup.
type remover struct {
	bytes.Buffer
	after int
	file  string
	err   error
}

func (r *remover) Write(p []byte) (int, error) {
	if r.file != "" && r.Len() > r.after {
		r.err = os.Remove(r.file)
		r.file = ""
	}
	return r.Buffer.Write(p)
}

// TestBackupDuringRetention proves that a backup continues if an archive is removed before it is copied.
func TestBackupDuringRetention(t *testing.T) {
	t.Parallel()
	folder, archives := t.TempDir(), t.TempDir()
	e, err := embedded.Open(t.Context(), embedded.Options{Folder: folder, Archives: archives, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	random := make([]byte, 4<<20)
	rand.NewChaCha8([32]byte{}).Read(random)
	for name, text := range map[string][]byte{"a": random, "b": []byte("removed"), "c": []byte("kept")} {
		if err := os.WriteFile(filepath.Join(archives, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := &remover{after: 3 << 20, file: filepath.Join(archives, "b")}
	if err := errors.Join(e.Backup(t.Context(), out), out.err); err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(&out.Buffer)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.Base(h.Name))
	}
	if !slices.Contains(names, "a") || slices.Contains(names, "b") || !slices.Contains(names, "c") {
		t.Errorf("the backup has %v", names)
	}
}
