package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file of an archive. Its mode and time do not come from this machine.
type entry struct {
	name    string // with slashes
	content []byte
	mode    fs.FileMode // with fs.ModeDir, a folder
	owner   int         // user and group; 0 is root
}

// archives creates the archives that users unpack by hand: tar.gz, or zip for Windows.
func (r *release) archives() error {
	for _, t := range r.targets {
		entries, err := r.entries(t)
		if err != nil {
			return err
		}
		ending, pack := ".tar.gz", packTarGz
		if t.system == "windows" {
			ending, pack = ".zip", packZip
		}
		content, err := pack(entries, r.time)
		if err != nil {
			return err
		}
		if err := write(r.name(t, ending), content); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the files of a target's archive, always in this order.
func (r *release) entries(t target) ([]entry, error) {
	type source struct{ name, folder string }
	sources := []source{{"LICENSE", "."}, {"README.md", "."}, {"CHANGELOG.md", "."}, {t.program(), r.built(t)}}
	if t.system != "windows" {
		for _, name := range []string{"zerodag.1.gz", "completions/zerodag.bash", "completions/_zerodag", "completions/zerodag.fish"} {
			sources = append(sources, source{name, r.shared()})
		}
	}
	var entries []entry
	for _, s := range sources {
		content, err := os.ReadFile(filepath.Join(s.folder, filepath.FromSlash(s.name)))
		if err != nil {
			return nil, err
		}
		e := entry{name: s.name, content: content, mode: 0o644}
		if s.name == t.program() {
			e.mode = 0o755
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func packTarGz(entries []entry, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(z, entries, at); err != nil {
		return nil, err
	}
	err = z.Close()
	return packed.Bytes(), err
}

func writeTar(to io.Writer, entries []entry, at time.Time) error {
	w := tar.NewWriter(to)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Size: int64(len(e.content)), Mode: int64(e.mode.Perm()), ModTime: at, Uid: e.owner, Gid: e.owner, Format: tar.FormatPAX}
		if e.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if e.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, e.name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(e.content); err != nil {
			return err
		}
	}
	return w.Close()
}

func packZip(entries []entry, at time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}
