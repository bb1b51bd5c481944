package files

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// folderLock is the file by whose lock a process has a folder.
const folderLock = "server.lock"

// LockFolder makes a folder, unless it is there, and locks it until the result is closed or the process ends,
// however it does: what a server keeps there of its commands must have one server.
func LockFolder(folder string) (io.Closer, error) {
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return nil, fmt.Errorf("make the server's folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, folderLock), os.O_CREATE|os.O_RDWR|noFollow, privateFile)
	if err != nil {
		return nil, fmt.Errorf("lock the server's folder: %w", err)
	}
	if err := tryLock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("another server uses the folder %s: give each server of this machine a folder of its own (configuration key server.folder)", folder)
	}
	return f, nil
}
