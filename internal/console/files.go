package console

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"path"
	"strings"

	"zerodag/internal/host"
)

// File is a file in a revision.
type File struct {
	Path string // with slashes
	Size int64
}

// Limits on reading an archive, because a function must respond within seconds.
const (
	mostFiles    = 5000
	mostUnpacked = 256 << 20 // bytes
)

// Files lists a revision's files in the order of its archive. all is false if the archive has more files than are read.
func (c *Console) Files(ctx context.Context, r host.Revision) (list []File, all bool, err error) {
	all, err = c.eachFile(ctx, r, func(f File, _ io.Reader) (bool, error) {
		list = append(list, f)
		return len(list) < mostFiles, nil
	})
	return list, all, err
}

// File reads up to most bytes of one of a revision's files. It returns host.ErrNotFound if the file does not exist.
func (c *Console) File(ctx context.Context, r host.Revision, name string, most int64) (text []byte, size int64, err error) {
	found := false
	_, err = c.eachFile(ctx, r, func(f File, content io.Reader) (bool, error) {
		if f.Path != name {
			return true, nil
		}
		found, size = true, f.Size
		text, err = io.ReadAll(io.LimitReader(content, most))
		return false, err
	})
	if err == nil && !found {
		err = host.ErrNotFound
	}
	return text, size, err
}

// sums returns digests of a revision's files, by path: of a file's content, or of a link's target. all is as in Files.
func (c *Console) sums(ctx context.Context, r host.Revision) (sums map[string][sha256.Size]byte, all bool, err error) {
	sums = map[string][sha256.Size]byte{}
	all, err = c.eachFile(ctx, r, func(f File, content io.Reader) (bool, error) {
		sum := sha256.New()
		if _, err := io.Copy(sum, content); err != nil {
			return false, err
		}
		sums[f.Path] = [sha256.Size]byte(sum.Sum(nil))
		return len(sums) < mostFiles, nil
	})
	return sums, all, err
}

// eachFile passes an archive's files to do, which reports whether to continue; the content of a link is its target. all
// means that there are no more files.
func (c *Console) eachFile(ctx context.Context, r host.Revision, do func(f File, content io.Reader) (bool, error)) (all bool, err error) {
	return c.eachEntry(ctx, r, func(h *tar.Header, name string, content io.Reader) (bool, error) {
		if h.Typeflag == tar.TypeSymlink {
			content = strings.NewReader(h.Linkname)
		}
		return do(File{Path: name, Size: h.Size}, content)
	})
}

// eachEntry passes the names of the files and links of an archive to do.
func (c *Console) eachEntry(ctx context.Context, r host.Revision, do func(h *tar.Header, name string, content io.Reader) (bool, error)) (all bool, err error) {
	packed, _, err := c.Catalogue.Archive(ctx, r)
	if err != nil {
		return false, err
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		return false, unreadable(err)
	}
	unpacked := &io.LimitedReader{R: z, N: mostUnpacked}
	for in := tar.NewReader(unpacked); ; {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil && unpacked.N <= 0:
			return false, nil
		case err != nil:
			return false, unreadable(err)
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeSymlink {
			continue
		}
		goOn, err := do(h, strings.TrimPrefix(path.Clean("/"+h.Name), "/"), in)
		switch {
		case err != nil && unpacked.N <= 0:
			return false, nil
		case err != nil:
			return false, unreadable(err)
		case !goOn:
			return false, nil
		}
	}
}

// unreadable returns the error for a damaged archive: pushes are checked, so the store is at fault.
func unreadable(err error) error {
	return errors.Join(errors.New("read the archive of a revision"), err)
}
