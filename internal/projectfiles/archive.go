package projectfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"zerodag/internal/host"
)

// Limits limits the archives that Unpack accepts. A zero value means the default given below.
type Limits struct {
	Compressed int64 // bytes of the archive: 100 MiB
	Total      int64 // bytes of all files together: 1 GiB
	File       int64 // bytes of one file: as many as Total
	Entries    int   // files, folders and links: 10,000
}

const mebibyte = 1 << 20

func (l Limits) orDefault() Limits {
	if l.Compressed == 0 {
		l.Compressed = 100 * mebibyte
	}
	if l.Total == 0 {
		l.Total = 1024 * mebibyte
	}
	if l.File == 0 {
		l.File = l.Total
	}
	if l.Entries == 0 {
		l.Entries = 10_000
	}
	return l
}

// refusef returns an error about an archive as the REST API reports it.
func refusef(format string, args ...any) error {
	return &host.Error{Code: host.Invalid, Message: fmt.Sprintf(format, args...)}
}

// Archive is an unpacked archive: a host.Archive.
type Archive struct {
	Project
	workflows []string
}

// OpenArchive opens the folder that an archive was unpacked into. Close deletes it.
func OpenArchive(folder string) (*Archive, error) {
	p, err := Open(folder)
	if err != nil {
		return nil, err
	}
	names, err := p.List()
	if err != nil {
		return nil, err
	}
	return &Archive{Project: p, workflows: WorkflowNames(names)}, nil
}

// Workflows returns the sorted names of the workflow files at the top level.
func (a *Archive) Workflows() []string { return a.workflows }

// Read returns a file by its slash-separated name, or dig.ErrNotFound if it does not exist. Links are followed only
// inside the folder.
func (a *Archive) Read(name string) ([]byte, error) { return a.Source(name) }

// Close deletes the folder.
func (a *Archive) Close() error {
	if err := os.RemoveAll(a.root); err != nil {
		return fmt.Errorf("delete unpacked archive: %w", err)
	}
	return nil
}

// linkInside returns the shortest relative form of the target that the link called name has, or false if the target is
// outside the project. In this form, every ".." is at the beginning, so that it leaves only real folders: no chain of
// such links can lead out.
func linkInside(name, target string) (string, bool) {
	if target == "" || path.IsAbs(target) {
		return "", false
	}
	target = path.Clean(target)
	if at := path.Join(path.Dir(name), target); !fs.ValidPath(strings.ToValidUTF8(at, "?")) {
		return "", false
	}
	return target, true
}

// isEmptyFolder reports whether a folder exists and whether it is empty.
func isEmptyFolder(folder string) (there, empty bool, err error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	return err == nil, len(entries) == 0, err
}
