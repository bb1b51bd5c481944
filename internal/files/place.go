package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// place is a folder with an unguessable name that one process owns while it lives: the process holds a lock on a file
// in it. Any process that finds the lock free may delete the folder, so leftovers of a killed process can be found
// without a record of them.
type place struct {
	folder string
	lock   *os.File
	held   *os.File // the folder itself: systemd-tmpfiles does not clean a folder that is locked
}

// The names of places. Their length is limited: recordings identify workspaces by their paths.
const (
	placePrefix = "zerodag-"
	placeRandom = 16
	placeLock   = "lock"
)

// newPlace creates a place below a folder to which others may write, and deletes places there whose processes are gone.
func newPlace(parent string) (*place, error) {
	if err := os.MkdirAll(parent, privateFolder); err != nil {
		return nil, err
	}
	clearPlaces(parent)
	for {
		name := filepath.Join(parent, placePrefix+strings.ToLower(rand.Text()[:placeRandom]))
		err := os.Mkdir(name, privateFolder) // fails if anything exists there, even a link
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock, err := os.OpenFile(filepath.Join(name, placeLock), os.O_CREATE|os.O_EXCL|os.O_RDWR, privateFile)
		if err == nil {
			err = tryLock(lock)
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(name))
		}
		p := &place{folder: name, lock: lock}
		if held, err := os.Open(name); err == nil {
			_ = tryLock(held) // where it has no effect, nothing cleans the folder either
			p.held = held
		}
		return p, nil
	}
}

// close deletes the folder.
func (p *place) close() error {
	err := errors.Join(os.RemoveAll(p.folder), p.lock.Close())
	if p.held != nil {
		err = errors.Join(err, p.held.Close())
	}
	return err
}

// clearPlaces deletes the places of processes that are gone. Places that cannot be deleted stay, because they must
// never keep a server from starting.
func clearPlaces(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), placePrefix) && len(e.Name()) == len(placePrefix)+placeRandom && e.IsDir() {
			clearPlace(filepath.Join(parent, e.Name()))
		}
	}
}

// clearPlace deletes a place if its lock is free, it belongs to this user, and no other user can have put anything into
// it.
func clearPlace(folder string) {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || !isOwn(info) || info.Mode().Perm()&0o022 != 0 {
		return
	}
	lock, err := os.OpenFile(filepath.Join(folder, placeLock), os.O_RDWR|noFollow|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer lock.Close()
	if tryLock(lock) == nil {
		os.RemoveAll(folder)
	}
}
