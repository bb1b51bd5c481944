package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLockFolder proves that only one server can use a folder, and that a server is not refused if it starts right
// after another one was killed, although a command that the other had just started still holds the lock for a moment.
func TestLockFolder(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	first, err := LockFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockFolder(folder); err == nil || !strings.Contains(err.Error(), "another server uses the folder "+folder) {
		t.Errorf("a second server: %v", err)
	}
	child, err := os.OpenFile(filepath.Join(folder, folderLock), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	if err := tryLock(child); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { child.Close() })
	next, err := LockFolder(folder)
	if err != nil {
		t.Fatalf("the next server: %v", err)
	}
	next.Close()
}
