package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"zerodag/internal/plainfile"
)

// The modes of everything that a server stores: only its user has access, regardless of the umask.
const (
	privateFile   fs.FileMode = 0o600
	privateFolder fs.FileMode = 0o700
)

// Private creates the folder for a server's data, or closes an existing one to other users: the folder itself, unless
// it also contains other data, and the given names in it. A name that ends in "*" is a prefix. It returns the paths
// that it had to close.
func Private(folder string, names ...string) (closed []string, err error) {
	if err := makePrivate(folder); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, fmt.Errorf("protect the data folder: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 || !isOwn(info) {
		return nil, nil // others cannot reach its contents, or its owner must close it
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("protect the data folder: %w", err)
	}
	alone := isOwn(info)
	for _, e := range entries {
		if !named(e.Name(), names) {
			alone = false
			continue
		}
		if err := tighten(filepath.Join(folder, e.Name()), &closed); err != nil {
			return closed, err
		}
	}
	if alone {
		if err := os.Chmod(folder, privateFolder); err != nil {
			return closed, fmt.Errorf("protect the data folder: %w", err)
		}
		closed = append(closed, folder)
	}
	return closed, nil
}

// makePrivate creates a folder and its parents. A new folder is closed to others.
func makePrivate(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { // #nosec G301 -- it is only the parent of the data folder, which is closed to others
		return err
	}
	if err := os.Mkdir(folder, privateFolder); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func named(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		start, open := strings.CutSuffix(n, "*")
		return name == n || open && strings.HasPrefix(name, start)
	})
}

// tighten removes the permissions of other users from a file or folder and everything in it. It skips files of other
// users and links.
func tighten(name string, closed *[]string) error {
	return filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("protect %s: %w", name, err)
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("protect %s: %w", name, err)
		}
		if info.Mode().Perm()&0o077 == 0 || !isOwn(info) || hasOtherNames(info) {
			return nil
		}
		if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil { // #nosec G122 -- only the server's user can write where it walks, and folders of other owners are skipped
			return fmt.Errorf("protect %s: %w", name, err)
		}
		*closed = append(*closed, path)
		return nil
	})
}

// ReadKey reads a small file that holds a secret: a regular file, never a pipe or a device, from which reading might not
// end. warning reports that others could read the file, and whether that was fixed.
func ReadKey(file string) (content []byte, warning string, err error) {
	f, err := plainfile.Open(os.OpenFile, file, maxKey)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, "", err
	}
	content, err = plainfile.Read(f, maxKey)
	if err != nil {
		return nil, "", err
	}
	// The target of a link is in another place, where the permissions may have been set for a reason.
	named, err := os.Lstat(file)
	own := err == nil && os.SameFile(named, info) && isOwn(info) && !hasOtherNames(info)
	mode := info.Mode().Perm()
	switch {
	case own && mode&0o077 != 0 && f.Chmod(mode&0o700) == nil:
		warning = fmt.Sprintf("%s was readable by other users (mode %04o): it is protected now, but they may have read it: consider a new key", file, mode)
	case own && mode&0o077 != 0 || mode&0o007 != 0:
		warning = fmt.Sprintf("%s is readable by other users (mode %04o): protect it with chmod 600", file, mode)
	}
	return content, warning, nil
}

// maxKey limits a file that holds one secret, in bytes.
const maxKey = 64 << 10
