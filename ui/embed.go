// Package ui is the web console: the page that `make ui` builds from the sources in this folder, and the handler that
// serves it, on a single node and in a function.
//
// It must never answer requests below /api, and its responses must not depend on the caller: the page is the same for
// all users, and all data that it shows comes from the API.
package ui

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// dist contains the built page in the folder page, with a .gz next to each file that benefits from it, and one line of HTML
// for programs that were built without it.
//
//go:embed all:dist
var dist embed.FS

// policy limits the page in a browser to scripts, data and images from this server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types zd-worker"

// How long browsers keep a file: names below /assets contain a hash of the content.
const (
	forever  = "public, max-age=31536000, immutable"
	checking = "no-cache"
)

// file is the response to a path.
type file struct {
	content, packed []byte // packed is nil if compression does not make it smaller
	kind, tag       string
	cache           string
}

type handler struct {
	files map[string]*file // by path without the first slash
	index *file
}

// Built reports whether this program contains the page: `make ui` builds it and requires Node.
func Built() bool {
	_, err := fs.Stat(dist, "dist/page/index.html")
	return err == nil
}

// Handler serves the page: its files by name, and the index for every other path that could be a route of the
// page. It fails only if the embedded files cannot be read.
func Handler() (http.Handler, error) {
	root := "dist"
	if Built() {
		root = "dist/page"
	}
	sub, err := fs.Sub(dist, root)
	if err != nil {
		return nil, fmt.Errorf("open the page: %w", err)
	}
	return newHandler(sub)
}

func newHandler(root fs.FS) (*handler, error) {
	h := &handler{files: map[string]*file{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".gz") || strings.HasPrefix(name, ".") {
			return err
		}
		f, err := read(root, name)
		h.files[name] = f
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	if h.index = h.files["index.html"]; h.index == nil {
		return nil, fmt.Errorf("read the page: index.html: %w", fs.ErrNotExist)
	}
	return h, nil
}

func read(root fs.FS, name string) (*file, error) {
	content, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	f := &file{content: content, kind: kindOf(name), tag: `"` + hex.EncodeToString(sum[:12]) + `"`, cache: checking}
	if strings.HasPrefix(name, "assets/") {
		f.cache = forever
	}
	if packed, err := fs.ReadFile(root, name+".gz"); err == nil {
		f.packed = packed
	}
	return f, nil
}

// kindOf returns the type of a file by its extension. The tables of machines differ, so our types are listed here.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".woff2":
		return "font/woff2"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	f := h.find(name)
	if f == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	status := http.StatusOK
	if first, _, _ := strings.Cut(name, "/"); f == h.index && name != "index.html" && !slices.Contains(pages, first) {
		status = http.StatusNotFound // the page shows a way back, and a probe of a wrong path fails
	}
	f.serve(w, r, status)
}

// pages are the first parts of the page's routes (src/router.tsx).
var pages = []string{"", "sessions", "projects", "attempts", "admin"} // never changed

func protect(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
}

// find returns the file of a path, or the index if the path may be a route of the page, which has no extension. It
// returns nil for files of earlier builds and for unknown files.
func (h *handler) find(name string) *file {
	if f := h.files[name]; f != nil {
		return f
	}
	if strings.HasPrefix(name, "assets/") || path.Ext(name) != "" {
		return nil
	}
	return h.index
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Set("Cache-Control", f.cache)
	header.Set("ETag", f.tag)
	header.Set("Vary", "Accept-Encoding")
	if slices.ContainsFunc(strings.Split(r.Header.Get("If-None-Match"), ","), func(tag string) bool { return strings.TrimPrefix(strings.TrimSpace(tag), "W/") == f.tag }) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := f.content
	if f.packed != nil && takesGzip(r.Header.Values("Accept-Encoding")) {
		content = f.packed
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("Content-Type", f.kind)
	header.Set("Content-Length", strconv.Itoa(len(content)))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // the client may have disconnected
	}
}

// takesGzip reports whether Accept-Encoding allows gzip; a weight of 0 excludes an encoding.
func takesGzip(accepted []string) bool {
	for part := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
			continue
		}
		_, value, given := strings.Cut(strings.ReplaceAll(weight, " ", ""), "q=")
		q, err := strconv.ParseFloat(value, 64)
		return !given || err == nil && q > 0
	}
	return false
}
