package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// folderLock is the file by whose lock a process has a folder.
const folderLock = "server.lock"

// How long a lock is waited for, and how often it is looked at. A server that is killed while it starts a command
// leaves its lock to that child, which gives it up when it becomes its program; on a busy machine that takes a while.
const (
	lockTime = 3 * time.Second
	lockLook = 10 * time.Millisecond
)

// LockFolder makes a folder, unless it is there, and locks it until the result is closed or the process ends,
// however it does: what a server keeps there of its commands must have one server.
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
