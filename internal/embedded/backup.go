package embedded

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"zerodag/internal/datafolder"
	"zerodag/internal/files"
	"zerodag/internal/host"
	"zerodag/internal/projectfiles"
)

// The folders and files of a backup, and of a server's data.
const (
	archivesName = datafolder.Archives
	logsName     = "logs"
	keyName      = datafolder.Key
)

// Backup writes all data of the running deployment as a tar.gz: a snapshot of the database, then the archives that it
// refers to and the logs. The key to the secrets is included if it is stored with the data: a user who has the backup
// can then read the secrets.
func (e *Engine) Backup(ctx context.Context, w io.Writer) error {
	if e.temporary != "" {
		return &host.Error{Code: host.Invalid, Message: "This server keeps its data in memory: there is nothing to back up"}
	}
	if e.shared != nil {
		return &host.Error{Code: host.Invalid, Message: e.shared.Backup}
	}
	db, copies := e.DB.(backuper)
	if !copies {
		return &host.Error{Code: host.Invalid, Message: "The database of this server cannot be copied while it is open: stop the server and copy its data folder"}
	}
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	if err := e.backup(ctx, db, out); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return errors.Join(out.Close(), zip.Close())
}

func (e *Engine) backup(ctx context.Context, db backuper, out *tar.Writer) error {
	temporary, err := os.MkdirTemp(e.folder, ".backup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	name := filepath.Base(e.file)
	copied := filepath.Join(temporary, name)
	if err := db.Backup(ctx, copied); err != nil {
		return err
	}
	if err := addFile(out, copied, name); err != nil {
		return err
	}
	err = addFile(out, filepath.Join(e.folder, keyName), keyName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, folder := range map[string]string{archivesName: e.archives, logsName: e.logs} {
		if err := addFolder(ctx, out, folder, name); err != nil {
			return err
		}
	}
	return nil
}

func addFolder(ctx context.Context, out *tar.Writer, folder, name string) error {
	return filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // no log has been stored yet, or it is gone
		}
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		rel, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		err = addFile(out, file, path.Join(name, filepath.ToSlash(rel)))
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // retention has removed it since the folder was read, so nothing needs it
		}
		return errors.Join(ctx.Err(), err)
	})
}

// addFile adds a file up to its current size: a log may grow in the meantime.
func addFile(out *tar.Writer, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: name, Size: info.Size(), Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(out, f, info.Size())
	return err
}

// Restore creates a deployment's folder from a backup. The folder must be missing or empty; it appears only when it is
// complete.
func Restore(ctx context.Context, backup io.Reader, folder string) error {
	if err := keeps(runtime.GOOS); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return fmt.Errorf("restore: %s is not empty: name a new folder, or move the old one", folder)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { // #nosec G301 -- it is only the parent of the data folder, which is closed to others
		return fmt.Errorf("restore: %w", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(folder), ".restore-")
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer os.RemoveAll(temporary)
	unpacked := filepath.Join(temporary, "data")
	const tera = 1 << 40
	if err := projectfiles.Unpack(ctx, backup, unpacked, projectfiles.Limits{Compressed: tera, Total: tera, Entries: 100_000_000}); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	db := DatabaseIn(unpacked)
	if !db.Exists {
		return fmt.Errorf("restore: this is not a backup of a server: %s is missing", filepath.Base(db.Path))
	}
	if _, err := db.Pending(ctx); err != nil {
		return fmt.Errorf("restore: this is not a backup of a server: %w", err)
	}
	if _, err := files.Private(unpacked, dataNames()...); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := os.Chmod(unpacked, 0o700); err != nil { // #nosec G302 -- it is a folder that only its owner can enter
		return fmt.Errorf("restore: %w", err)
	}
	if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore: %w", err)
	}
	if err := os.Rename(unpacked, folder); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	return nil
}
