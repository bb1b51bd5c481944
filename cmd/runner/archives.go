//go:build linux

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// archives holds the project archives that commands on this machine need: each is fetched once, and unpacked again for
// every command.
type archives struct {
	api    *api
	folder string
	most   int64 // bytes to keep for later programs; 0 keeps nothing

	mu   sync.Mutex
	have map[string]*fetched
}

// fetched is an archive that is or was being fetched.
type fetched struct {
	once   sync.Once
	file   string
	err    error
	cutOff bool // the command that fetched it was ended, so another one may still fetch it
}

func newArchives(a *api, work string) *archives {
	return &archives{api: a, folder: filepath.Join(work, "archives"), have: map[string]*fetched{}}
}

func (a *archives) remove() { os.RemoveAll(a.folder) }

// file returns an archive, by a key that never refers to a different archive. Concurrent commands that need it wait for
// one of them to fetch it; if that command is ended, another one fetches it.
func (a *archives) file(ctx context.Context, key, url string) (*fetched, error) {
	for {
		f := a.of(key)
		f.once.Do(func() {
			f.file, f.err = a.fetch(ctx, key, url)
			f.cutOff = f.err != nil && ctx.Err() != nil
		})
		if f.err != nil {
			a.forget(key, f) // the next one retries
		}
		if !f.cutOff || ctx.Err() != nil {
			return f, f.err
		}
	}
}

// of returns an archive that is stored, or must be fetched.
func (a *archives) of(key string) *fetched {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.have[key]
	if f == nil {
		f = &fetched{}
		a.have[key] = f
	}
	return f
}

// forget makes the next command fetch an archive again, unless another has done so. A file that could not be unpacked
// is removed.
func (a *archives) forget(key string, f *fetched) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.have[key] != f {
		return
	}
	delete(a.have, key)
	if f.file != "" {
		os.Remove(f.file)
	}
}

func (a *archives) fetch(ctx context.Context, key, url string) (string, error) {
	if err := os.MkdirAll(a.folder, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(key))
	name := filepath.Join(a.folder, hex.EncodeToString(sum[:]))
	if a.most > 0 && a.kept(name) {
		return name, nil
	}
	part := name + ".part" // an interrupted download leaves no partial archive under its name
	var err error
	began := time.Now()
	for range 3 { // a connection may break in the middle
		if err = a.download(ctx, url, part); err == nil || ctx.Err() != nil || time.Since(began) > deafTime {
			break
		}
	}
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		return "", fmt.Errorf("fetch the project: %w", err)
	}
	if a.most > 0 {
		a.discard(name)
	}
	return name, nil
}

func (a *archives) download(ctx context.Context, url, name string) error {
	in, err := a.api.get(ctx, url)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// unpack creates the project's files in an existing folder; they belong to a user, unless user is 0.
func unpack(file, folder string, user int) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("unpack the project: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for entries := tar.NewReader(zip); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackEntry(root, h, entries, user)
		}
		if err != nil {
			return fmt.Errorf("unpack the project: %w", err)
		}
	}
}

// unpackEntry creates one file; os.Root keeps it inside the folder.
func unpackEntry(root *os.Root, h *tar.Header, content io.Reader, user int) error {
	name := strings.TrimSuffix(filepath.Clean(h.Name), "/")
	if name == "." || name == "" {
		return nil
	}
	if err := makeParents(root, filepath.Dir(name), user); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return makeParents(root, name, user)
	case tar.TypeSymlink:
		if err := root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return own(root, name, user)
	case tar.TypeReg:
		out, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, os.FileMode(h.Mode).Perm()|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, content)
		if err = errors.Join(err, out.Close()); err != nil {
			return err
		}
		if !h.ModTime.IsZero() {
			root.Chtimes(name, time.Now(), h.ModTime) // for tools that read it; a failure does not matter
		}
		return own(root, name, user)
	}
	return nil // a project contains no devices
}

func makeParents(root *os.Root, dir string, user int) error {
	if dir == "." {
		return nil
	}
	if _, err := root.Lstat(dir); err == nil {
		return nil
	}
	if err := makeParents(root, filepath.Dir(dir), user); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return own(root, dir, user)
}

func own(root *os.Root, name string, user int) error {
	if user == 0 {
		return nil
	}
	return root.Lchown(name, user, user)
}
