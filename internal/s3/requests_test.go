package s3_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/s3"
	"zerodag/operators"
)

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// TestParts proves that a large blob is uploaded part by part, once, and that none of it is left if the upload is
// cut short.
func TestParts(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	counter := localstack.Count(&c)
	blobs := s3.NewBlobs(c, bucket(t, c))
	ctx, large := t.Context(), random(20<<20)
	if err := blobs.Put(ctx, "large", bytes.NewReader(large), int64(len(large))); err != nil {
		t.Fatal(err)
	}
	if got := counter.Take(); got != "CompleteMultipartUpload 1, CreateBucket 1, CreateMultipartUpload 1, UploadPart 3" {
		t.Errorf("20 MB took %s", got)
	}
	if err := blobs.Put(ctx, "large", bytes.NewReader(random(20<<20)), 20<<20); err != nil {
		t.Errorf("a key that is there: %v", err)
	}
	r, size, err := blobs.Open(ctx, "large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || size != int64(len(large)) || !bytes.Equal(got, large) {
		t.Errorf("%d bytes of %d came back changed (%v)", len(got), size, err)
	}
	counter.Take()
	if err := blobs.Put(ctx, "short", bytes.NewReader(large[:15<<20]), 20<<20); err == nil {
		t.Error("15 MB were taken for 20")
	}
	if got := counter.Take(); got != "AbortMultipartUpload 1, CreateMultipartUpload 1, UploadPart 1" {
		t.Errorf("an upload that is cut short took %s", got)
	}
}

// TestLinks proves that links work without credentials until they expire, and that an upload accepts only the announced
// content.
func TestLinks(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	blobs := s3.NewBlobs(c, bucket(t, c))
	ctx, content := t.Context(), []byte("content of an archive")
	sum := sha256.Sum256(content)
	up, err := blobs.UploadLink(ctx, "uploads/a", int64(len(content)), base64.StdEncoding.EncodeToString(sum[:]), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := put(t, up, []byte("CONTENT of an archive")); got < 400 {
		t.Errorf("another content was taken: status %d", got)
	}
	if got, _ := put(t, up, content); got != http.StatusOK {
		t.Errorf("the upload ended with status %d", got)
	}
	get := func(link string) (int, string) {
		t.Helper()
		out, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Body.Close()
		body, err := io.ReadAll(out.Body)
		if err != nil {
			t.Fatal(err)
		}
		return out.StatusCode, string(body)
	}
	link, err := blobs.Link(ctx, "uploads/a", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := get(link); status != http.StatusOK || body != string(content) {
		t.Errorf("the link gives status %d and %q", status, body)
	}
	status := http.StatusOK
	for begin := time.Now(); status == http.StatusOK && time.Since(begin) < 10*time.Second; {
		status, _ = get(link)
	}
	if status != http.StatusForbidden {
		t.Errorf("a link of a second gives status %d after it has ended", status)
	}
}

// kept records short logs.
type kept map[string][]byte

func (k kept) KeepShort(_ int64, name string, content []byte) { k[name] = content }

func (k kept) EachShort(_ context.Context, _ int64, f func(string, []byte)) error {
	for name, content := range k {
		f(name, content)
	}
	return nil
}

// TestPuts proves that a short log costs no object, a longer one a single put, and an endless one an object per
// rotation, and that no text is lost.
func TestPuts(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	counter := localstack.Count(&c)
	short := kept{}
	logs := s3.NewLogs(c, s3.LogOptions{Bucket: bucket(t, c), AgentID: "agent", Short: short, Rotate: 100 << 10})
	a := host.Attempt{ID: 4, Site: 1}
	text := func(n int) string { return base64.StdEncoding.EncodeToString(random(n)) }
	for _, x := range []struct {
		task  string
		lines []string
		calls string
		files int
	}{
		{"+silent", nil, "", 0}, {"+short", []string{"a", "b"}, "", 1}, {"+long", []string{text(2000)}, "PutObject 1", 1},
		{"+endless", []string{text(150 << 10), text(150 << 10), text(10 << 10)}, "PutObject 3", 3},
	} {
		counter.Take()
		l := logs.Open(operators.Identity{SiteID: 1, AttemptID: 4, TaskName: x.task}, time.Now())
		for _, line := range x.lines {
			l.Echo(line)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := counter.Take(); got != x.calls {
			t.Errorf("%s took %q, want %q", x.task, got, x.calls)
		}
		files, err := logs.Files(t.Context(), a, x.task)
		if err != nil || len(files) != x.files {
			t.Errorf("%s has %d files (%v), want %d", x.task, len(files), err, x.files)
		}
		var all strings.Builder
		for _, f := range files {
			r, size, err := logs.File(t.Context(), a, f.Name)
			if err != nil || size != f.Size || (f.Direct == "") != (len(short[f.Name]) > 0) {
				t.Fatalf("file %+v has %d bytes (%v)", f, size, err)
			}
			z, err := gzip.NewReader(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(&all, z); err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		if all.String() != strings.Join(x.lines, "") {
			t.Errorf("%s: %d bytes of text came back as %d", x.task, len(strings.Join(x.lines, "")), all.Len())
		}
	}
}
