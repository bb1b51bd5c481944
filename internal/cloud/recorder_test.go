package cloud

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecorder proves that a handler's response is kept as a server would send it, no matter what order the handler
// writes in; the standard library's test recorder is the oracle.
func TestRecorder(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":      func(http.ResponseWriter, *http.Request) {},
		"status alone": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"body alone":   func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"own kind": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			io.WriteString(w, "{}")
		},
		"status twice": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			w.WriteHeader(200)
			io.WriteString(w, "x")
		},
		"several writes": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			w.Header().Add("X", "1")
			w.Header().Add("X", "2")
			io.WriteString(w, "a")
			io.WriteString(w, "b")
		},
		"header too late": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "a/b")
			io.WriteString(w, "a")
			w.Header().Set("Late", "x")
		},
		"flushed first": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			io.WriteString(w, "data: 1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oracle, ours := httptest.NewRecorder(), newRecorder()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			handler(oracle, r)
			handler(ours, r)
			ours.end()
			want := oracle.Result()
			body, err := io.ReadAll(want.Body)
			if err != nil {
				t.Fatal(err)
			}
			if ours.status != want.StatusCode || ours.body.String() != string(body) {
				t.Errorf("%d %q, want %d %q", ours.status, ours.body.String(), want.StatusCode, body)
			}
			if diff := cmp.Diff(want.Header, ours.sent); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}
