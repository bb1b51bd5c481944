package projectfiles

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"zerodag/internal/datafolder"
	"zerodag/internal/plainfile"
)

// Packing holds options for packing a project into an archive.
type Packing struct {
	// CopyOutgoing stores the target of a link out of the project under the link's name.
	CopyOutgoing bool
	// Output is the absolute path of the archive: a file with that path is not packed.
	Output string
	// Packed is called with each name, and with the target of a link; may be nil.
	Packed func(name, target string)
	// LeftOut is called with each folder of server data, and with each link to one, which are never packed; may be nil.
	LeftOut func(name string)
}

// Pack writes the project as a tar.gz (wire.md 3.1): the files that List names, sorted, without owners or times, so
// that identical files produce identical archives. Links get relative targets; a link that leads out of the project is
// an error unless it must be copied. It returns the names of the workflow files.
func (p Project) Pack(w io.Writer, o Packing) ([]string, error) {
	z := gzip.NewWriter(w)
	archive := tar.NewWriter(z)
	k := &packer{project: p, Packing: o, archive: archive}
	if err := k.all(); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	return WorkflowNames(k.packed), nil
}

type packer struct {
	Packing
	project Project
	ignored ignorePatterns
	archive interface { // a *tar.Writer
		io.Writer
		WriteHeader(h *tar.Header) error
	}
	headersOnly bool // the contents of files are not read
	packed      []string
}

// all packs the project.
func (k *packer) all() error {
	found, err := k.project.list()
	if err != nil {
		return err
	}
	if k.ignored, err = k.project.ignored(); err != nil {
		return err
	}
	for _, name := range found.data {
		k.leaveOut(name)
	}
	for _, name := range found.names {
		if err := k.entry(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// entry packs one name; above are the folders that copied links led through.
func (k *packer) entry(name string, above []fs.FileInfo) error {
	file := filepath.Join(k.project.root, filepath.FromSlash(name))
	if file == k.Output {
		return nil
	}
	info, err := os.Lstat(file)
	if err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		done, err := k.link(name, file)
		if done || err != nil {
			return err
		}
		if info, err = os.Stat(file); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	switch {
	case info.IsDir():
		return k.folder(name, file, info, above)
	case info.Mode().IsRegular():
		return k.file(name, file)
	}
	return fmt.Errorf("archive %s: it is not a file, a folder or a link: remove it, or list it in %s", name, ownIgnoreFile)
}

// link packs a link that stays inside, or returns false if its target must be copied instead.
func (k *packer) link(name, file string) (done bool, err error) {
	if datafolder.Reached(k.project.root, file) {
		k.leaveOut(name)
		return true, nil
	}
	target, err := os.Readlink(file)
	if err != nil {
		return false, fmt.Errorf("archive %s: %w", name, err)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(file), target)
	}
	target = filepath.Clean(target)
	inside, err := filepath.Rel(k.project.root, target)
	if err != nil || !filepath.IsLocal(inside) {
		if k.CopyOutgoing {
			return false, nil
		}
		return false, fmt.Errorf("Invalid symbolic link: Given path '%s' is outside of project directory '%s'. Consider to add --copy-outgoing-symlinks option", target, k.project.root)
	}
	relative, err := filepath.Rel(filepath.Dir(file), target)
	if err != nil {
		return false, fmt.Errorf("archive %s: %w", name, err)
	}
	relative = filepath.ToSlash(relative)
	k.told(name, relative)
	err = k.archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: relative, Mode: 0o777, Format: tar.FormatPAX})
	if err != nil {
		return false, fmt.Errorf("archive %s: %w", name, err)
	}
	return true, nil
}

func (k *packer) leaveOut(name string) {
	if k.LeftOut != nil {
		k.LeftOut(name)
	}
}

func (k *packer) told(name, target string) {
	k.packed = append(k.packed, name)
	if k.Packed != nil {
		k.Packed(name, target)
	}
}

// folder packs the contents of a folder that a copied link leads to.
func (k *packer) folder(name, file string, info fs.FileInfo, above []fs.FileInfo) error {
	if datafolder.Is(file) {
		k.leaveOut(name)
		return nil
	}
	if slices.ContainsFunc(above, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
		return fmt.Errorf("archive %s: the symbolic link leads to a folder that contains it", name)
	}
	entries, err := os.ReadDir(file)
	if err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	above = append(slices.Clip(above), info)
	for _, e := range entries {
		below := path.Join(name, e.Name())
		if strings.HasPrefix(e.Name(), ".") || k.ignored.ignores(below, e.IsDir()) {
			continue
		}
		if err := k.entry(below, above); err != nil {
			return err
		}
	}
	return nil
}

func (k *packer) file(name, file string) error {
	f, err := plainfile.Open(os.OpenFile, file, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	k.told(name, "")
	h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(info.Mode().Perm()), Format: tar.FormatPAX}
	if err := k.archive.WriteHeader(h); err != nil {
		return fmt.Errorf("archive %s: %w", name, err)
	}
	if k.headersOnly {
		return nil
	}
	// A file that grows in the meantime is cut off at the size in its header.
	if _, err := io.CopyN(k.archive, f, info.Size()); err != nil {
		return fmt.Errorf("archive %s: %w (it must not change while it is read)", name, err)
	}
	return nil
}
