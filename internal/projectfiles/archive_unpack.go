package projectfiles

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"zerodag/engine/dig"
	"zerodag/internal/datafolder"
)

// Unpack writes a project archive (tar.gz, wire.md 3.1) into a folder that is empty or does not exist, either
// completely or not at all. An archive that is broken, is too large or leads out of the folder causes a *host.Error
// with the code Invalid; every other error comes from this machine or from r.
func Unpack(ctx context.Context, r io.Reader, folder string, limits Limits) error {
	there, empty, err := isEmptyFolder(folder)
	if err != nil {
		return fmt.Errorf("unpack archive: %w", err)
	}
	if there && !empty {
		return fmt.Errorf("unpack archive: folder %s is not empty", folder)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil { // #nosec G301 -- it is above projects, and users who must be kept out are kept out of the data folder
		return fmt.Errorf("unpack archive: %w", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(folder), ".unpack-*")
	if err != nil {
		return fmt.Errorf("unpack archive: %w", err)
	}
	defer os.RemoveAll(temporary) // after success, it no longer exists
	if err := unpackInto(ctx, r, temporary, limits.orDefault()); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil { // #nosec G302 -- it is a project, which commands run as other users read, below a folder that is closed to everyone else
		return fmt.Errorf("unpack archive: %w", err)
	}
	if there {
		if err := os.Remove(folder); err != nil { // only an empty folder is removed
			return fmt.Errorf("unpack archive: %w", err)
		}
	}
	if err := os.Rename(temporary, folder); err != nil {
		return fmt.Errorf("unpack archive: %w", err)
	}
	return nil
}

// Inspect reads an archive and returns the error with which Unpack would refuse it, without writing anything.
func Inspect(ctx context.Context, r io.Reader, limits Limits) error {
	u := &unpacking{limits: limits.orDefault(), seen: map[string]byte{}}
	if err := u.all(ctx, r); err != nil {
		return err
	}
	if data := datafolder.Among(slices.Collect(maps.Keys(u.seen))); len(data) > 0 {
		return refusef("Archive includes the data of a server (its database and the key of its secrets) in %s: it must not leave its machine. Move it out of the project, or create the archive with `zerodag push` or `zerodag archive`, which omit it", strings.Join(data, ", "))
	}
	return nil
}

func unpackInto(ctx context.Context, r io.Reader, folder string, limits Limits) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("unpack archive: %w", err)
	}
	defer root.Close()
	return (&unpacking{limits: limits, root: root, seen: map[string]byte{}}).all(ctx, r)
}

func (u *unpacking) all(ctx context.Context, r io.Reader) error {
	limits := u.limits
	in := &source{ctx: ctx, r: r, limit: limits.Compressed}
	err := u.read(in)
	switch {
	case in.failed != nil:
		return in.failed
	case isFormatError(err):
		return refusef("Archive is broken: %v", err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EILSEQ):
		return refusef("Archive includes an invalid entry: %v", err)
	}
	return err
}

func compressedRefusal(limit int64) error {
	return refusef("Size of the uploaded archive file exceeds limit (%d bytes)", limit)
}

// source reads the compressed archive up to the limit. It keeps its error, to distinguish it from defects of the
// archive.
type source struct {
	ctx    context.Context //nolint:containedctx // it belongs to a single call, from its first line to its last
	r      io.Reader
	limit  int64
	n      int64
	failed error
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		s.failed = err
		return 0, err
	}
	n, err := s.r.Read(p)
	s.n += int64(n)
	switch {
	case s.n > s.limit:
		s.failed = compressedRefusal(s.limit)
		return 0, s.failed
	case err != nil && err != io.EOF:
		s.failed = fmt.Errorf("read archive: %w", err)
	}
	return n, err
}

func isFormatError(err error) bool {
	var corrupt flate.CorruptInputError
	var internal flate.InternalError
	return errors.As(err, &corrupt) || errors.As(err, &internal) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum)
}

// unpacking is one run of Unpack. The folder is an os.Root, so that a mistake in the checks of names causes an error
// instead of an escape.
type unpacking struct {
	limits  Limits
	root    *os.Root        // nil: the archive is only inspected
	seen    map[string]byte // the type of each entry, and of each folder that was created for one
	modes   []folderMode
	total   int64
	entries int
}

// folderMode is set at the end, because files must be written even into a folder that ends up read-only.
type folderMode struct {
	name string
	mode fs.FileMode
}

func (u *unpacking) read(in io.Reader) error {
	z, err := gzip.NewReader(in)
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refusef("Input is not in the .gz format")
	}
	if err != nil {
		return err
	}
	z.Multistream(false) // as Digdag reads it; later members are ignored
	raw := &rawLimit{r: z, left: u.limits.Total + int64(u.limits.Entries)*perEntry + mebibyte}
	archive := tar.NewReader(raw)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := u.entry(header, archive); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, raw); err != nil { // up to the checksum
		return err
	}
	for _, f := range u.modes {
		if u.root == nil {
			break
		}
		if err := u.root.Chmod(f.name, f.mode); err != nil {
			return fmt.Errorf("unpack archive: %w", err)
		}
	}
	return nil
}

// perEntry is the maximum number of bytes of an entry's headers and padding.
const perEntry = 8192

// rawLimit limits the unpacked bytes in total, including headers and skipped parts.
type rawLimit struct {
	r    io.Reader
	left int64
}

func (l *rawLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, refusef("Archive is too large when it is unpacked")
	}
	return n, err
}

// Limits on a path: the system must accept it below the path of a workspace, and each of its folders is looked up again
// for every folder below it.
const longestPath, deepestPath = 3000, 250

func (u *unpacking) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader { // `git archive` writes one; it describes no file
		return nil
	}
	if u.entries++; u.entries > u.limits.Entries {
		return refusef("Number of files in the archive exceeds limit (%d)", u.limits.Entries)
	}
	name, ok := entryName(h.Name)
	if !ok {
		return refusef("Archive includes an invalid entry: %s", h.Name)
	}
	if len(name) > longestPath || strings.Count(name, "/") > deepestPath {
		return refusef("Archive includes an invalid entry: the path %s... has %d bytes and %d folders, but at most %d and %d are allowed",
			name[:min(len(name), 60)], len(name), strings.Count(name, "/"), longestPath, deepestPath)
	}
	if name == "." && h.Typeflag == tar.TypeDir {
		return nil
	}
	if err := u.claim(name, h.Typeflag); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		// The owner may always enter and delete it.
		u.modes = append(u.modes, folderMode{name, fs.FileMode(h.Mode)&0o777 | 0o700})
		return nil
	case tar.TypeSymlink:
		return u.link(name, h.Linkname)
	case tar.TypeReg:
		return u.file(name, h, content)
	case tar.TypeLink:
		return refusef("Archive includes an invalid entry: %s is a hard link to %s (create the archive with `zerodag archive`, or with tar's option --hard-dereference)", h.Name, h.Linkname)
	}
	return refusef("Archive includes an invalid entry: %s is not a file, a folder or a symbolic link", h.Name)
}

// entryName returns the slash-separated name below the folder, or false if it leads out.
func entryName(name string) (string, bool) {
	if name == "" || path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return "", false
	}
	name = path.Clean(name)
	// Old systems create names that are not UTF-8.
	return name, fs.ValidPath(strings.ToValidUTF8(name, "?"))
}

// claim creates the folders above a name, and ensures that no name appears twice and that nothing is below a file or a
// link.
func (u *unpacking) claim(name string, kind byte) error {
	for i, c := range name {
		if c != '/' {
			continue
		}
		if err := u.folder(name[:i], name); err != nil {
			return err
		}
	}
	if kind == tar.TypeDir {
		return u.folder(name, name)
	}
	if _, twice := u.seen[name]; twice {
		return refusef("Archive includes an invalid entry: %s appears twice", name)
	}
	u.seen[name] = kind
	return nil
}

// folder creates a folder for an entry unless it already exists.
func (u *unpacking) folder(name, entry string) error {
	switch kind, there := u.seen[name]; {
	case there && kind == tar.TypeDir:
		return nil
	case there && name == entry:
		return refusef("Archive includes an invalid entry: %s appears twice", entry)
	case there:
		return refusef("Archive includes an invalid entry: %s is below %s, which is not a folder", entry, name)
	}
	u.seen[name] = tar.TypeDir
	if len(u.seen) > 2*u.limits.Entries {
		return refusef("Number of files in the archive exceeds limit (%d)", u.limits.Entries)
	}
	if u.root == nil {
		return nil
	}
	if err := u.root.Mkdir(name, 0o755); err != nil {
		return unpackError(name, err)
	}
	return nil
}

func (u *unpacking) link(name, target string) error {
	inside, ok := linkInside(name, target)
	if !ok {
		return refusef("Archive includes an invalid symlink: %s -> %s", name, target)
	}
	if u.root == nil {
		return nil
	}
	if err := u.root.Symlink(filepath.FromSlash(inside), name); err != nil {
		return unpackError(name, err)
	}
	return nil
}

func (u *unpacking) file(name string, h *tar.Header, content io.Reader) error {
	if h.Size > u.limits.File {
		return refusef("Size of a file in the archive exceeds limit (%d > %d bytes): %s", h.Size, u.limits.File, h.Name)
	}
	if u.total += h.Size; u.total > u.limits.Total {
		return refusef("Total size of the archive exceeds limit (%d > %d bytes)", u.total, u.limits.Total)
	}
	if h.Size > dig.MaxFile && path.Ext(name) == ".dig" {
		return refusef("Size of a workflow file in the archive exceeds limit (%d > %d bytes): %s", h.Size, dig.MaxFile, h.Name)
	}
	if u.root == nil {
		return nil
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return unpackError(name, err)
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(fs.FileMode(h.Mode)&0o777 | 0o400)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	return nil
}

// unpackError wraps a file system error. If a name exists although no entry had it, this file system does not
// distinguish it from another entry's name.
func unpackError(name string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return refusef("Archive includes an invalid entry: %s appears twice", name)
	}
	return fmt.Errorf("unpack %s: %w", name, err)
}

// ServerData lists the folders of server data in an archive. An unreadable archive yields none: the caller reports what
// is wrong with it.
func ServerData(ctx context.Context, archive io.ReaderAt, limits Limits) []string {
	u := &unpacking{limits: limits.orDefault(), seen: map[string]byte{}}
	_ = u.all(ctx, io.NewSectionReader(archive, 0, math.MaxInt64)) // everything read until then is checked
	return datafolder.Among(slices.Collect(maps.Keys(u.seen)))
}
