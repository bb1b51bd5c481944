package projectfiles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig"
	"zerodag/internal/host"
)

// tarball creates an archive from headers; the content of a regular file is its Linkname.
func tarball(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range headers {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Linkname: content}
}

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

func kind(flag byte, name string) tar.Header {
	return tar.Header{Typeflag: flag, Name: name, Mode: 0o755, Linkname: "a"}
}

// TestUnpackRefuses proves that hostile archives are refused with an error that blames the sender, and leave nothing
// behind.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	good := tarball(t, file("a.dig", strings.Repeat("x", 5000)))
	small := Limits{Compressed: 4096, Total: 100, File: 60, Entries: 3}
	cases := []struct {
		name    string
		archive []byte
		limits  Limits
		want    string
	}{
		{"parent", tarball(t, file("../a", "")), Limits{}, "Archive includes an invalid entry: ../a"},
		{"parent inside", tarball(t, file("a/../../b", "")), Limits{}, "invalid entry"},
		{"absolute", tarball(t, file("/etc/a", "")), Limits{}, "invalid entry: /etc/a"},
		{"root as file", tarball(t, file(".", "")), Limits{}, ""},
		{"link out", tarball(t, link("a", "../b")), Limits{}, "Archive includes an invalid symlink: a -> ../b"},
		{"absolute link", tarball(t, link("a", "/etc")), Limits{}, "Archive includes an invalid symlink: a -> /etc"},
		{"empty link", tarball(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: ""}), Limits{}, "invalid symlink"},
		{"through a link", tarball(t, link("a", "b"), file("a/c", "")), Limits{}, "a/c is below a, which is not a folder"},
		{"over a link", tarball(t, link("a", "b"), file("a", "")), Limits{}, "a appears twice"},
		{"folder over a link", tarball(t, link("a", "b"), kind(tar.TypeDir, "a/")), Limits{}, "a appears twice"},
		{"below a file", tarball(t, file("a", ""), file("a/c", "")), Limits{}, "not a folder"},
		{"twice", tarball(t, file("a", "1"), file("./a", "2")), Limits{}, "a appears twice"},
		{"file over folder", tarball(t, file("a/b", ""), file("a", "")), Limits{}, "a appears twice"},
		{"hard link", tarball(t, file("a", ""), kind(tar.TypeLink, "b")), Limits{}, "b is a hard link to a"},
		{"fifo", tarball(t, kind(tar.TypeFifo, "b")), Limits{}, "not a file, a folder or"},
		{"device", tarball(t, kind(tar.TypeChar, "b")), Limits{}, "not a file, a folder or"},
		{"block device", tarball(t, kind(tar.TypeBlock, "b")), Limits{}, "not a file, a folder or"},
		{"long name", tarball(t, file(strings.Repeat("n", 300), "")), Limits{}, "invalid entry"},
		{"no gzip", []byte("_export: {}\n"), Limits{}, "Input is not in the .gz format"},
		{"nothing", nil, Limits{}, "Input is not in the .gz format"},
		{"cut", good[:len(good)-12], Limits{}, "Archive is broken"},
		{"no tar", zipped(t, strings.Repeat("no tar", 500)), Limits{}, "Archive is broken"},
		{"compressed", tarball(t, file("a", "")), Limits{Compressed: 40}, "Size of the uploaded archive file exceeds limit (40 bytes)"},
		{"file", tarball(t, file("a", strings.Repeat("x", 61))), small, "Size of a file in the archive exceeds limit (61 > 60 bytes): a"},
		{"total", tarball(t, file("a", strings.Repeat("x", 60)), file("b", strings.Repeat("x", 41))), small, "Total size of the archive exceeds limit (101 > 100 bytes)"},
		{"entries", tarball(t, file("a", ""), file("b", ""), file("c", ""), file("d", "")), small, "Number of files in the archive exceeds limit (3)"},
		{"folders", tarball(t, file(strings.Repeat("f/", 50)+"a", "")), small, "Number of files in the archive exceeds limit (3)"},
		{"bomb", zipped(t, strings.Repeat("\x00", 3*mebibyte)), small, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			above := t.TempDir()
			err := Unpack(t.Context(), bytes.NewReader(c.archive), filepath.Join(above, "p"), c.limits)
			var refused *host.Error
			if !errors.As(err, &refused) || refused.Code != host.Invalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			left, err := os.ReadDir(above)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestUnpack proves that files, folders, modes and inner links are unpacked, whatever program created the archive.
func TestUnpack(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 40) + "name"
	archive := tarball(t,
		tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "0"}},
		kind(tar.TypeDir, "./"),
		tar.Header{Typeflag: tar.TypeDir, Name: "locked/", Mode: 0o500},
		file("locked/a", "in a folder that is not for writing"),
		tar.Header{Typeflag: tar.TypeReg, Name: "./run.sh", Mode: 0o4755},
		file("b/../x.dig", "+a:\n  echo>: x\n"),
		file("sub/y.dig", ""),
		file(long, "deep"),
		link("up/to", "../x.dig"),
		link("up/detour", "../b/../sub"),
		link("dangling", "nowhere"),
	)
	folder := filepath.Join(t.TempDir(), "new", "p")
	if err := Unpack(t.Context(), bytes.NewReader(archive), folder, Limits{}); err != nil {
		t.Fatal(err)
	}
	a, err := OpenArchive(folder)
	if err != nil {
		t.Fatal(err)
	}
	var _ host.Archive = a
	if diff := cmp.Diff([]string{"x.dig"}, a.Workflows()); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"x.dig": "+a:\n  echo>: x\n", long: "deep", "up/to": "+a:\n  echo>: x\n", "locked/a": "in a folder that is not for writing"} {
		if got, err := a.Read(name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if _, err := a.Read("dangling"); !errors.Is(err, dig.ErrNotFound) {
		t.Errorf("a missing file is %v", err)
	}
	for name, want := range map[string]fs.FileMode{"run.sh": 0o755, "x.dig": 0o644, "locked": fs.ModeDir | 0o700, ".": fs.ModeDir | 0o755} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
			t.Errorf("mode of %s is %v, want %v (%v)", name, info.Mode(), want, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(folder, "up/detour")); err != nil || target != "../sub" {
		t.Errorf("link to %q, %v", target, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestUnpackStops proves that an interrupted upload is not reported as a defect of the archive, and that a folder with
// content is not touched.
func TestUnpackStops(t *testing.T) {
	t.Parallel()
	archive := tarball(t, file("a", "text"))
	folder := t.TempDir()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Unpack(ended, bytes.NewReader(archive), folder, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	torn := io.MultiReader(bytes.NewReader(archive[:20]), brokenReader{})
	if err := Unpack(t.Context(), torn, folder, Limits{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("torn connection: %v", err)
	}
	if err := Unpack(t.Context(), bytes.NewReader(archive), folder, Limits{}); err != nil {
		t.Errorf("an empty folder is not good enough: %v", err)
	}
	if err := Unpack(t.Context(), bytes.NewReader(archive), folder, Limits{}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a full folder: %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// FuzzUnpack proves that no archive writes outside its folder, and that a failure leaves nothing behind.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte("../a"), []byte("b"), byte(tar.TypeReg))
	f.Add([]byte("a"), []byte("../../x"), byte(tar.TypeSymlink))
	f.Add([]byte("s/t/up"), []byte(".."), byte(tar.TypeSymlink))
	f.Add([]byte("a"), []byte("b"), byte(tar.TypeLink))
	f.Fuzz(func(t *testing.T, name, target []byte, flag byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		w := tar.NewWriter(z)
		for _, h := range []tar.Header{link("l", "s/t"), {Typeflag: flag, Name: string(name), Linkname: string(target)}, file("l2/"+string(name), "")} {
			if w.WriteHeader(&h) != nil {
				return
			}
		}
		w.Close()
		z.Close()
		above := t.TempDir()
		folder := filepath.Join(above, "p")
		err := Unpack(t.Context(), &b, folder, Limits{Total: mebibyte, Entries: 10})
		left, readErr := os.ReadDir(above)
		if readErr != nil || (err == nil) != (len(left) == 1) {
			t.Fatalf("error %v, left %v (%v)", err, left, readErr)
		}
		if err == nil {
			staysInside(t, folder)
		}
	})
}

// FuzzUnpackBytes checks the same for bytes that no program would write as an archive.
func FuzzUnpackBytes(f *testing.F) {
	z, err := gzip.NewReader(bytes.NewReader(tarball(f, file("a/b", "text"), link("a/l", "../c"), kind(tar.TypeDir, "d"))))
	if err != nil {
		f.Fatal(err)
	}
	sample, err := io.ReadAll(z)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample[:4*512]) // without the zeros at the end, because small inputs are mutated faster
	f.Fuzz(func(t *testing.T, raw []byte) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(raw)
		z.Close()
		above := t.TempDir()
		folder := filepath.Join(above, "p")
		err := Unpack(t.Context(), &b, folder, Limits{Total: mebibyte, Entries: 10})
		left, readErr := os.ReadDir(above)
		if readErr != nil || (err == nil) != (len(left) == 1) {
			t.Fatalf("error %v, left %v (%v)", err, left, readErr)
		}
		if err == nil {
			staysInside(t, folder)
		}
	})
}

// staysInside follows every link of a folder, whose contents must not exceed the limits.
func staysInside(t *testing.T, folder string) {
	t.Helper()
	total := int64(0)
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			if total += info.Size(); total > mebibyte {
				t.Errorf("%d bytes were unpacked, one MiB is allowed", total)
			}
		}
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if to, err := filepath.EvalSymlinks(name); err == nil && to != folder && !strings.HasPrefix(to, folder+"/") {
			t.Errorf("link %s leads to %s", name, to)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
