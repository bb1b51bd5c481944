package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// folderLock is the file whose lock gives a process exclusive use of a folder.
const folderLock = "server.lock"

// How long to wait for a lock, and how often to check it. A server that is killed while it starts a command leaves its
// lock to the child process, which releases it when it executes its program; on a busy machine that takes a while.
const (
	lockTime = 3 * time.Second
	lockLook = 10 * time.Millisecond
)

// LockFolder creates a folder if it does not exist, and locks it until the result is closed or the process ends for any
// reason. A folder with data about commands must belong to only one server.
func LockFolder(folder string) (io.Closer, error) {
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return nil, fmt.Errorf("create the server's folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, folderLock), os.O_CREATE|os.O_RDWR|noFollow, privateFile)
	if err != nil {
		return nil, fmt.Errorf("lock the server's folder: %w", err)
	}
	for end := time.Now().Add(lockTime); tryLock(f) != nil; time.Sleep(lockLook) {
		if time.Now().Before(end) {
			continue
		}
		f.Close()
		return nil, fmt.Errorf("another server uses the folder %s: give each server on this machine a separate folder (configuration key server.folder)", folder)
	}
	return f, nil
}
