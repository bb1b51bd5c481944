package ui

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func built(t *testing.T) http.Handler {
	t.Helper()
	h, err := newHandler(fstest.MapFS{
		"index.html":          {Data: []byte("the index")},
		"theme.js":            {Data: []byte("theme")},
		"assets/x-1a2b.js":    {Data: []byte("script of some length")},
		"assets/x-1a2b.js.gz": {Data: []byte("packed")},
		"assets/f.woff2":      {Data: []byte("font")},
		".vite/manifest.json": {Data: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPaths checks which file each path answers with, and how long a browser keeps it.
func TestPaths(t *testing.T) {
	t.Parallel()
	h := built(t)
	for _, x := range []struct {
		path, body, kind, cache string
		status                  int
	}{
		{"/", "the index", "text/html; charset=utf-8", checking, 200},
		{"/attempts/33", "the index", "text/html; charset=utf-8", checking, 200},
		{"/metrics", "the index", "text/html; charset=utf-8", checking, 404},
		{"/healthz", "the index", "text/html; charset=utf-8", checking, 404},
		{"/attempts/", "the index", "text/html; charset=utf-8", checking, 200},
		{"/theme.js", "theme", "text/javascript; charset=utf-8", checking, 200},
		{"/assets/x-1a2b.js", "script of some length", "text/javascript; charset=utf-8", forever, 200},
		{"/assets/f.woff2", "font", "font/woff2", forever, 200},
		{"/assets/gone-9z.js", "", "", "", 404},
		{"/assets/", "", "", "", 404},
		{"/favicon.ico", "", "", "", 404},
		{"/.vite/manifest.json", "", "", "", 404},
		{"/assets/x-1a2b.js.gz", "", "", "", 404},
	} {
		w := ask(h, http.MethodGet, x.path)
		if w.Code != x.status || w.Body.String() != x.body || w.Header().Get("Content-Type") != x.kind || w.Header().Get("Cache-Control") != x.cache {
			t.Errorf("%s: %d %q %v", x.path, w.Code, w.Body, w.Header())
		}
		if w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: without protection: %v", x.path, w.Header())
		}
	}
}

// TestPages proves that the paths of the page's router are those that answer with 200.
func TestPages(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("src/router.tsx")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range regexp.MustCompile(`path: "/([^"/]*)`).FindAllStringSubmatch(string(source), -1) {
		if !slices.Contains(found, m[1]) {
			found = append(found, m[1])
		}
	}
	slices.Sort(found)
	if want := slices.Sorted(slices.Values(pages)); !slices.Equal(found, want) {
		t.Errorf("the router has %q, and these answer with 200: %q", found, want)
	}
}

// TestPacked proves that a compressed file is sent as stored to clients that accept it, and that a file that a browser
// already has is not sent again.
func TestPacked(t *testing.T) {
	t.Parallel()
	h := built(t)
	for accepted, body := range map[string]string{
		"gzip": "packed", "br, gzip;q=0.5": "packed", "*": "packed", "GZIP": "packed",
		"": "script of some length", "gzip;q=0": "script of some length", "gzip; q=0.0": "script of some length", "br": "script of some length", "gzip;q=x": "script of some length",
	} {
		w := ask(h, http.MethodGet, "/assets/x-1a2b.js", "Accept-Encoding", accepted)
		if w.Body.String() != body || (w.Header().Get("Content-Encoding") == "gzip") != (body == "packed") || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: %q %v", accepted, w.Body, w.Header())
		}
	}
	first := ask(h, http.MethodGet, "/")
	if w := ask(h, http.MethodGet, "/", "If-None-Match", `"other", W/`+first.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("a file that the client has: %d %q", w.Code, w.Body)
	}
	if w := ask(h, http.MethodHead, "/"); w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Length") != "9" {
		t.Errorf("HEAD: %d %q %v", w.Code, w.Body, w.Header())
	}
	if w := ask(h, http.MethodPost, "/"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestEmbedded proves that a program has an index whether or not the page was built, and that the index of a built page
// has nothing that the policy forbids.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	h, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	w := ask(h, http.MethodGet, "/")
	text := w.Body.String()
	if w.Code != http.StatusOK || !strings.Contains(text, "zerodag") {
		t.Fatalf("%d %s", w.Code, text)
	}
	if !Built() {
		if !strings.Contains(text, "make ui build") {
			t.Errorf("without the page a program does not say how it is built: %s", text)
		}
		return
	}
	for _, forbidden := range []string{"<style", "style=", "http://", "https://", "onload="} {
		if strings.Contains(text, forbidden) {
			t.Errorf("the index has %s:\n%s", forbidden, text)
		}
	}
	for part := range strings.SplitSeq(text, "<script") {
		if tag, _, found := strings.Cut(part, "</script>"); found && !strings.Contains(tag, "src=") {
			t.Errorf("the index has a script of its own: %s", tag)
		}
	}
}
