// Package datafolder recognizes the folder of a server's data by its contents, whatever its location and name.
//
// All code that creates, sends or receives copies of a project uses it: a server's database and its secret key must
// never be among a project's files.
package datafolder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The names of a server's files, which are the same in all versions.
const (
	Database = "zerodag.db"
	Key      = "secret.key"
	Token    = "admin.token"
	Archives = "blobs"
)

// marks lists the names that identify a data folder.
var marks = []string{Database, Key, Token, Archives}

// Holds reports whether a folder that has entries with these names is a server's data folder: it contains the database,
// or the secret key together with archives or the first token. It ignores case, as file systems may.
func Holds(names []string) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	return has(Database) || has(Key) && (has(Archives) || has(Token))
}

// Is reports whether a folder is a server's data folder. It returns false for an unreadable folder, because its
// contents cannot be copied.
func Is(folder string) bool {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return Holds(names)
}

// Within lists the folders of server data below root by their slash-separated names, sorted; "." is root itself. Links
// are not followed.
func Within(root string) (found []string, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission) && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil || !d.IsDir() || !Is(file):
			return err
		}
		name, err := filepath.Rel(root, file)
		found = append(found, filepath.ToSlash(name))
		if err == nil && name != "." {
			err = fs.SkipDir
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for server data: %w", err)
	}
	slices.Sort(found)
	return found, nil
}

// Among lists the folders of server data among slash-separated names of files and folders, sorted.
func Among(names []string) (found []string) {
	below, seen := map[string][]string{}, map[string]bool{}
	for _, name := range names {
		for ; name != "." && name != "/" && !seen[name]; name = path.Dir(name) {
			seen[name] = true // including all its parents: an archive may be thousands of folders deep
			folder, mark := path.Dir(name), strings.ToLower(path.Base(name))
			if slices.Contains(marks, mark) && !slices.Contains(below[folder], mark) {
				below[folder] = append(below[folder], mark)
			}
		}
	}
	for folder, entries := range below {
		if Holds(entries) {
			found = append(found, folder)
		}
	}
	slices.Sort(found)
	return found
}

// Reached reports whether a path, after links are followed, is a server's data folder or is inside one. Folders that
// contain root do not count: root was chosen for its contents.
func Reached(root, file string) bool {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	for ; ; file = filepath.Dir(file) {
		if up, err := filepath.Rel(file, root); err == nil && filepath.IsLocal(up) {
			return false
		}
		if Is(file) {
			return true
		}
	}
}

// Remove deletes server data from an unpacked folder: whole data folders below it and, in the folder itself, the
// database, the key and the token. It returns the removed names.
func Remove(root string) ([]string, error) {
	found, err := Within(root)
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		if name != "." {
			if err := os.RemoveAll(filepath.Join(root, filepath.FromSlash(name))); err != nil {
				return nil, fmt.Errorf("exclude server data: %w", err)
			}
			continue
		}
		entries, err := os.ReadDir(root)
		if err != nil {
			return nil, fmt.Errorf("exclude server data: %w", err)
		}
		for _, e := range entries {
			low := strings.ToLower(e.Name())
			if low != Key && low != Token && !strings.HasPrefix(low, Database) {
				continue
			}
			if err := os.RemoveAll(filepath.Join(root, e.Name())); err != nil {
				return nil, fmt.Errorf("exclude server data: %w", err)
			}
		}
	}
	return found, nil
}
