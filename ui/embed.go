// Package ui is the web console: what `make ui` has built of the sources beside this file, and the handler that
// serves it, on one machine and as a function alike.
//
// It must never answer anything below /api, and never anything that depends on who asks: the page is the same for
// everybody, and all that it shows comes from the API.
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

// dist has the built page in the folder page, with a .gz beside each file that gains from it, and one line of HTML
// for programs that were built without it.
//
//go:embed all:dist
var dist embed.FS

// policy is what the page may do in a browser: run, fetch and show what this server serves, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types zd-worker"

// How long browsers keep a file: what is below /assets has its hash in its name.
const (
	forever  = "public, max-age=31536000, immutable"
	checking = "no-cache"
)

// file is what is sent for a path.
type file struct {
	content, packed []byte // packed is nil where that is no smaller
	kind, tag       string
	cache           string
}

type handler struct {
	files map[string]*file // by path without the first slash
	index *file
}

// Built says whether the page is in this program: `make ui` makes it, and needs Node.
func Built() bool {
	_, err := fs.Stat(dist, "dist/page/index.html")
	return err == nil
}

// Handler serves the page: its files by their names, and the one index for every other path that could be one of the
// page's own. It fails only when what is embedded cannot be read.
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

// kindOf is the type of a file by its ending. What machines know of endings differs, so ours are named here.
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
	f := h.find(strings.TrimPrefix(r.URL.Path, "/"))
	if f == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

func protect(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
}

// find is the file of a path, or the index where the path may be one of the page's own: those have no ending. nil is
// a file of an earlier build, or none that ever was.
func (h *handler) find(name string) *file {
	if f := h.files[name]; f != nil {
		return f
	}
	if strings.HasPrefix(name, "assets/") || path.Ext(name) != "" {
		return nil
	}
	return h.index
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
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
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // a client that is gone has no reader
	}
}

// takesGzip reads Accept-Encoding: names with a weight, of which 0 is a no.
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
