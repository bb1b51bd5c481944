package s3_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/internal/host"
	"zerodag/internal/s3"
)

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// put sends a body to the address in a link, and returns the status and the ETag.
func put(t *testing.T, up host.UploadLink, body []byte) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, up.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range up.Header {
		r.Header.Set(name, value)
	}
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	return out.StatusCode, out.Header.Get("ETag")
}

// TestUploadRefused proves that a signed upload accepts only one specific content, and expires.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	blobs := s3.NewBlobs(c, bucket(t, c))
	content := []byte("content of an archive")
	link := func(valid time.Duration) host.UploadLink {
		up, err := blobs.UploadLink(t.Context(), "uploads/a", int64(len(content)), sumOf(content), valid)
		if err != nil {
			t.Fatal(err)
		}
		return up
	}
	up := link(time.Minute)
	for name, body := range map[string][]byte{"other": []byte("CONTENT of an archive"), "longer": append(content, '!'), "shorter": content[:5], "empty": nil} {
		if status, _ := put(t, up, body); status < 400 {
			t.Errorf("%s content was taken: status %d", name, status)
		}
	}
	if there, err := blobs.Has(t.Context(), "uploads/a"); there || err != nil {
		t.Errorf("something is there after four refusals (%v)", err)
	}
	elsewhere := up
	elsewhere.URL = string(bytes.Replace([]byte(up.URL), []byte("uploads/a"), []byte("slots/a"), 1))
	if status, _ := put(t, elsewhere, content); status != http.StatusForbidden {
		t.Errorf("the link writes another key: status %d", status)
	}
	late := link(time.Second)
	status := 0
	for begin := time.Now(); status != http.StatusForbidden && time.Since(begin) < 10*time.Second; {
		status, _ = put(t, late, content)
	}
	if status != http.StatusForbidden {
		t.Errorf("a link of a second gives status %d after it has ended", status)
	}
}

// TestUploadParts proves that an upload in parts accepts only the announced content, exists only once it is complete,
// and may be completed again.
func TestUploadParts(t *testing.T) {
	t.Parallel()
	c := localstack.Config(t)
	blobs := s3.NewBlobs(c, bucket(t, c))
	ctx, content := t.Context(), random(11<<20)
	pieces := [][]byte{content[:5<<20], content[5<<20 : 10<<20], content[10<<20:]}
	var parts []host.Part
	for _, p := range pieces {
		parts = append(parts, host.Part{Size: int64(len(p)), Sum: sumOf(p)})
	}
	id, links, err := blobs.BeginParts(ctx, "uploads/large", parts, time.Minute)
	if err != nil || len(links) != 3 {
		t.Fatal(links, err)
	}
	if status, _ := put(t, links[0], pieces[1]); status < 400 {
		t.Errorf("another part was taken: status %d", status)
	}
	tags := make([]string, 3)
	for i := range pieces[:2] {
		status := 0
		if status, tags[i] = put(t, links[i], pieces[i]); status != http.StatusOK {
			t.Fatalf("part %d: status %d", i, status)
		}
	}
	var user *host.Error
	for _, list := range [][]string{tags[:2], {tags[0], tags[1], `"nothing"`}, {tags[1], tags[0], tags[1]}} {
		if err := blobs.CompleteParts(ctx, "uploads/large", id, parts, list); !errors.As(err, &user) || user.Code != host.Invalid {
			t.Errorf("completed with %v: %v", list, err)
		}
	}
	if there, err := blobs.Has(ctx, "uploads/large"); there || err != nil {
		t.Errorf("it is there before it is complete (%v)", err)
	}
	status := 0
	if status, tags[2] = put(t, links[2], pieces[2]); status != http.StatusOK {
		t.Fatalf("the last part: status %d", status)
	}
	for range 2 {
		if err := blobs.CompleteParts(ctx, "uploads/large", id, parts, tags); err != nil {
			t.Fatal(err)
		}
	}
	r, size, err := blobs.Open(ctx, "uploads/large")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || size != int64(len(content)) || !bytes.Equal(got, content) {
		t.Errorf("%d bytes of %d came back changed (%v)", len(got), size, err)
	}
	if err := blobs.CompleteParts(ctx, "uploads/never", id, parts, tags); !errors.As(err, &user) || user.Code != host.Missing {
		t.Errorf("an upload that nobody began: %v", err)
	}
}
