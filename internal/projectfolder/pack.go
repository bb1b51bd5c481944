package projectfolder

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"zerodag/engine/dig"
	"zerodag/internal/projectfiles"
	"zerodag/operators"
)

// NewArchiveFile creates a file for an archive to be uploaded: below the current folder, where Digdag puts it, or among
// the system's temporary files. The caller removes it.
func NewArchiveFile() (*os.File, error) {
	folder := operators.TempFolder(runFolder("."))
	if err := os.MkdirAll(folder, 0o755); err == nil { // #nosec G301 -- it is a folder of the user's project, and files in it are only for that user
		if f, err := os.CreateTemp(folder, "archive-*.tar.gz"); err == nil {
			return f, nil
		}
	}
	f, err := os.CreateTemp("", "archive-*.tar.gz")
	if err != nil {
		return nil, fmt.Errorf("create archive: %w", err)
	}
	return f, nil
}

// LeftOut returns the note about a file that is omitted because it is server data.
func LeftOut(name string) string {
	return fmt.Sprintf("  Skipping %s: it is the data of a server (its database and the key of its secrets)", name)
}

// Archive reads the workflows as a push does and writes an archive of the folder to a file, which may be in the folder
// under the given name. out shows the packed files, notes the omitted ones. copyLinks stores the targets of links out
// of the folder.
func (f Folder) Archive(to *os.File, name string, copyLinks bool, out, notes io.Writer) ([]dig.Workflow, error) {
	fmt.Fprintf(out, "Creating %s...\n", name)
	contents, err := f.Read()
	if err != nil {
		return nil, err
	}
	itself, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("create archive: %w", err)
	}
	_, err = f.Pack(to, projectfiles.Packing{CopyOutgoing: copyLinks, Output: itself, Packed: func(name, target string) {
		fmt.Fprintf(out, "  Archiving %s\n", name)
		if target != "" {
			fmt.Fprintf(out, "    symlink -> %s\n", target)
		}
	}, LeftOut: func(name string) { fmt.Fprintln(notes, LeftOut(name)) }})
	if err != nil {
		return nil, err
	}
	return contents.Workflows, nil
}
