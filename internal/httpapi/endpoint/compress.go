package endpoint

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/wire"
)

// packer is a compressor that is reused, because a new one clears a megabyte.
type packer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// packers holds the compressors of each encoding.
var packers = map[string]*sync.Pool{ // never changed
	"gzip":    {New: func() any { return gzip.NewWriter(nil) }},
	"deflate": {New: func() any { return zlib.NewWriter(nil) }},
}

// compress compresses a body with the encoding that the client prefers, gzip before deflate.
func compress(h http.Header, accept string, body []byte) []byte {
	encoding := Preferred(accept)
	pool := packers[encoding]
	if pool == nil {
		return body
	}
	w := pool.Get().(packer)
	defer pool.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, _ = w.Write(body) // writes to memory cannot fail
	_ = w.Close()
	h.Set("Content-Encoding", encoding)
	return out.Bytes()
}

// Preferred returns the preferred encoding of an Accept-Encoding header.
func Preferred(accept string) string {
	best := ""
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if q, ok := strings.CutPrefix(strings.TrimSpace(params), "q="); ok {
			if weight, err := strconv.ParseFloat(q, 64); err != nil || weight == 0 {
				continue
			}
		}
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "gzip", "*":
			return "gzip"
		case "deflate":
			best = name
		}
	}
	return best
}

// unpacked reads a body that may be compressed, up to a limit of decompressed bytes.
func unpacked(w http.ResponseWriter, r *http.Request, limit int64) (io.ReadCloser, error) {
	body := http.MaxBytesReader(w, r.Body, limit)
	var plain io.ReadCloser
	var err error
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body, nil
	case "gzip":
		plain, err = gzip.NewReader(body)
	case "deflate":
		plain, err = zlib.NewReader(body)
	default:
		return nil, access.Refuse(http.StatusUnsupportedMediaType, "Content-Encoding "+encoding+" is not supported: use gzip or deflate")
	}
	if err != nil {
		return nil, wire.Invalid("Body cannot be decompressed: %v", err)
	}
	return http.MaxBytesReader(w, plain, limit), nil
}
