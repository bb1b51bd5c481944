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

// place is a folder of a name that cannot be guessed, which one process has while it lives: it
// holds a lock on a file in it. Who finds the lock free may delete the folder, so what a killed
// process left is found without a word of it anywhere.
type place struct {
	folder string
	lock   *os.File
}

// The names of places. Their length is limited: recordings identify workspaces by their paths.
const (
	placePrefix = "zerodag-"
	placeRandom = 16
	placeLock   = "lock"
)

// newPlace makes a place below a folder, which others may write to, and deletes those there
// whose processes are gone.
func newPlace(parent string) (*place, error) {
	if err := os.MkdirAll(parent, privateFolder); err != nil {
		return nil, err
	}
	clearPlaces(parent)
	for {
		name := filepath.Join(parent, placePrefix+strings.ToLower(rand.Text()[:placeRandom]))
		err := os.Mkdir(name, privateFolder) // fails for whatever is there, a link too
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
		return &place{name, lock}, nil
	}
}

// close deletes the folder.
func (p *place) close() error {
	return errors.Join(os.RemoveAll(p.folder), p.lock.Close())
}

// clearPlaces deletes the places of processes that are gone. What cannot be deleted stays: it
// must never keep a server from starting.
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

// clearPlace deletes a place that is this user's and that no other user can have put anything
// into, when its lock is free.
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
