package rest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLogFiles checks that a log is returned as it is stored, and that names lead only to logs of the attempt.
func TestLogFiles(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.push(c.project())
	files := "/api/logs/" + c.run("p", "main") + "/files"
	list := elsewhere(c.must(http.MethodGet, files+"?task=%2Bmain%2Bb", nil)).(map[string]any)
	name := list["files"].([]any)[0].(map[string]any)["fileName"].(string)
	a := c.call(http.MethodGet, files+"/"+url.PathEscape(name), nil)
	z, err := gzip.NewReader(bytes.NewReader(a.content))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !strings.HasSuffix("\n"+strings.TrimSuffix(string(text), "\n"), "\nb") {
		t.Errorf("log: %q %v", text, err)
	}
	if head := c.call(http.MethodHead, files+"/"+url.PathEscape(name), nil); head.status != http.StatusOK || head.header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
	for escaped, status := range map[string]int{"nosuch.log.gz": 404, "..%2F" + url.PathEscape(name): 400, "..": 400, "%2Fetc%2Fpasswd": 400, "a%5Cb": 400, "a%00b": 400, "..%2F..%2F..%2Fetc%2Fpasswd": 400} {
		if a := c.call(http.MethodGet, files+"/"+escaped, nil); a.status != status {
			t.Errorf("%s: %d %s, want %d", escaped, a.status, a.content, status)
		}
	}
}
