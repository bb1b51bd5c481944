package endpoint

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestCompress proves that responses are compressed as clients request, even many at once.
func TestCompress(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for accept, encoding := range map[string]string{"gzip": "gzip", "deflate, gzip;q=0.5": "gzip", "deflate": "deflate", "gzip;q=0, deflate": "deflate", "br": "", "": ""} {
		for size := range 20 {
			all.Go(func() {
				body, h := bytes.Repeat([]byte(accept+" text "), size*100), http.Header{}
				packed := io.Reader(bytes.NewReader(compress(h, accept, body)))
				var err error
				switch encoding {
				case "gzip":
					packed, err = gzip.NewReader(packed)
				case "deflate":
					packed, err = zlib.NewReader(packed)
				}
				if err != nil {
					t.Errorf("%q: %v", accept, err)
					return
				}
				if got, err := io.ReadAll(packed); err != nil || !bytes.Equal(got, body) || h.Get("Content-Encoding") != encoding {
					t.Errorf("%q: %d bytes as %q, %v", accept, len(got), h.Get("Content-Encoding"), err)
				}
			})
		}
	}
	all.Wait()
}

// TestPreferred checks which encoding is chosen.
func TestPreferred(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]string{"": "", "gzip": "gzip", "deflate, gzip": "gzip", "deflate": "deflate", "br, deflate;q=0.5": "deflate",
		"gzip;q=0, deflate": "deflate", "GZIP": "gzip", "*": "gzip", "identity": "", "gzip;q=0": ""} {
		if got := Preferred(accept); got != want {
			t.Errorf("%q: %q, want %q", accept, got, want)
		}
	}
}

// BenchmarkCompress measures how much time compression adds to a response about an attempt.
func BenchmarkCompress(b *testing.B) {
	body := []byte(strings.Repeat(`{"id":"890810589027710","index":1,"project":{"id":"1","name":"nightly"}},`, 8))
	for b.Loop() {
		compress(http.Header{}, "gzip", body)
	}
}
