// Package files stores a server's data that is kept in files: archives and logs of tasks, stored parameters, and the
// workspaces that tasks run in. Other users of the machine have no access to its files.
//
// The embedded server and the deployments use it. It must never write outside the folders that it was given, and
// nothing that a killed process left behind may keep the next one from starting.
package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zerodag/internal/host"
)

// Blobs keeps archives as files below a folder; slashes in keys create subfolders. It implements host.Blobs.
type Blobs struct{ folder string }

// NewBlobs creates the folder and returns Blobs in it.
func NewBlobs(folder string) (*Blobs, error) {
	if err := makePrivate(folder); err != nil {
		return nil, fmt.Errorf("create folder of blobs: %w", err)
	}
	return &Blobs{folder}, nil
}

// path returns the path to a blob's file. Keys are relative slash paths. No part may begin with a dot, because such
// names are for files that are being written.
func (b *Blobs) path(key string) (string, error) {
	if !fs.ValidPath(key) || key == "." || strings.HasPrefix(key, ".") || strings.Contains(key, "/.") || strings.ContainsAny(key, "\\\x00") {
		return "", fmt.Errorf("blob key %q is not a relative path", key)
	}
	return filepath.Join(b.folder, filepath.FromSlash(key)), nil
}

// Put stores a blob: see host.Blobs. Afterwards the blob is either complete and on disk or does not exist.
func (b *Blobs) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	path, err := b.path(key)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := makeFolders(b.folder, filepath.Dir(path)); err != nil {
		return fmt.Errorf("store blob %s: %w", key, unavailable(err))
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("store blob %s: %w", key, unavailable(err))
	}
	defer os.Remove(f.Name()) // does nothing once the file has been renamed
	if err := fillBlob(ctx, f, r, size); err != nil {
		return fmt.Errorf("store blob %s: %w", key, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("store blob %s: %w", key, unavailable(err))
	}
	return syncFolder(filepath.Dir(path))
}

// incoming is the reader for Put: it distinguishes failed reads from failed writes.
type incoming struct {
	ctx context.Context //nolint:containedctx // io.Reader has no argument for it
	r   io.Reader
	err error
}

// Read stops when ctx ends.
func (s *incoming) Read(p []byte) (n int, err error) {
	if err = s.ctx.Err(); err == nil {
		n, err = s.r.Read(p)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func fillBlob(ctx context.Context, f *os.File, r io.Reader, size int64) error {
	s := &incoming{ctx: ctx, r: r}
	n, err := io.Copy(f, io.LimitReader(s, size+1))
	switch {
	case s.err != nil:
		err = s.err
	case err != nil:
		err = unavailable(err)
	case n != size:
		err = fmt.Errorf("it does not have the announced %d bytes", size)
	default:
		err = unavailable(errors.Join(f.Chmod(privateFile), f.Sync()))
	}
	return errors.Join(err, f.Close())
}

// unavailable marks a disk error as temporary.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", host.ErrUnavailable, err)
}

// makeFolders creates folders below root so that they survive a power loss.
func makeFolders(root, folder string) error {
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := os.MkdirAll(folder, privateFolder); err != nil {
		return err
	}
	for f := filepath.Dir(folder); len(f) >= len(root); f = filepath.Dir(f) {
		if err := syncFolder(f); err != nil || f == root {
			return err
		}
	}
	return nil
}

// syncFolder makes a folder's entries survive a power loss.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return unavailable(err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return unavailable(err)
	}
	return nil
}

// Open reads a blob.
func (b *Blobs) Open(_ context.Context, key string) (io.ReadCloser, int64, error) {
	path, err := b.path(key)
	if err != nil {
		return nil, 0, err
	}
	return openSized(path, nil)
}

// Delete removes a blob.
func (b *Blobs) Delete(_ context.Context, key string) error {
	path, err := b.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob %s: %w", key, unavailable(err))
	}
	return nil
}

// Link returns no link: files are read through the server.
func (b *Blobs) Link(context.Context, string, time.Duration) (string, error) { return "", nil }
