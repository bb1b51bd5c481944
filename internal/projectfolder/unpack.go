package projectfolder

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"zerodag/internal/datafolder"
	"zerodag/internal/projectfiles"
	"zerodag/internal/term"
)

// NamesFolder reports whether a project's name can be the name of a folder in the current one.
func NamesFolder(name string) bool {
	return filepath.IsLocal(name) && name != "." && !strings.ContainsAny(name, `/\`) && term.OneLine(name) == name
}

// Generous returns limits for archives from a server that the user trusts.
func Generous() projectfiles.Limits {
	const tera = 1 << 40
	return projectfiles.Limits{Compressed: tera, Total: tera, Entries: 10_000_000}
}

// Unpack unpacks an archive into a temporary folder next to the existing files and then moves its files into place: a
// broken archive changes nothing. It returns the names of the files; out shows which server data it omits.
func Unpack(ctx context.Context, archive io.Reader, folder string, out io.Writer) ([]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil { // #nosec G301 -- it is the user's project, closed by their umask if they so choose
		return nil, fmt.Errorf("download: %w", err)
	}
	temporary, err := os.MkdirTemp(folder, ".download-*")
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer os.RemoveAll(temporary)
	unpacked := filepath.Join(temporary, "p")
	if err := projectfiles.Unpack(ctx, archive, unpacked, Generous()); err != nil {
		return nil, err
	}
	left, err := datafolder.Remove(unpacked)
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		fmt.Fprintln(out, LeftOut(name))
	}
	return moveInto(unpacked, folder)
}

// moveInto moves all files of one folder into another, replacing existing ones. The target is an os.Root so that an
// existing link cannot lead a file elsewhere.
func moveInto(from, to string) ([]string, error) {
	root, err := os.OpenRoot(to)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	defer root.Close()
	source, err := filepath.Rel(to, from)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	names := []string{}
	err = filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == from {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return moveFolder(root, name, d)
		}
		names = append(names, name)
		return root.Rename(filepath.Join(source, name), name)
	})
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	return names, nil
}

func moveFolder(root *os.Root, name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	return root.Chmod(name, info.Mode().Perm())
}
