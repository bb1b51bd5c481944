package projectfiles

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyAll copies everything in the project's folder, including what CopyTo omits.
func (p Project) CopyAll(folder string) (Project, error) {
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		local, err := filepath.Rel(p.root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(folder, local), 0o755) // #nosec G301 -- it is a copy of a project for a command, which may run as another user
		}
		return copyFile(path, filepath.Join(folder, local))
	})
	if err != nil {
		return Project{}, fmt.Errorf("copy project: %w", err)
	}
	return Open(folder)
}

// CopyTo copies the project's listed files into a new folder: a workspace in which a task may change anything. It
// shares nothing with the source, so there are no hard links.
func (p Project) CopyTo(folder string) (Project, error) {
	names, err := p.List()
	if err != nil {
		return Project{}, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { // #nosec G301 -- it is a copy of a project for a command, which may run as another user
		return Project{}, fmt.Errorf("copy project: %w", err)
	}
	for _, name := range names {
		local := filepath.FromSlash(name)
		if err := copyFile(filepath.Join(p.root, local), filepath.Join(folder, local)); err != nil {
			return Project{}, fmt.Errorf("copy project: %w", err)
		}
	}
	return Open(folder)
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { // #nosec G301 -- it is a copy of a project for a command, which may run as another user
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
