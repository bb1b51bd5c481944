package notice_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/host/hosttest"
	"zerodag/internal/host/hosttest/suite"
	"zerodag/internal/notice"
)

var _ host.Notices = (*notice.Notices)(nil)

// TestContract runs the contract suite for notices over HTTP.
func TestContract(t *testing.T) {
	t.Parallel()
	hosttest.Exercise(t, hosttest.Driver{Absent: hosttest.AllBut("a notice is sent but not stored", "Notices"), Stores: func(t *testing.T, run func(*testing.T, suite.Stores)) {
		var mu sync.Mutex
		var told []*param.Map
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			v, err := param.ParseJSON(string(text))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, v.(*param.Map))
		}))
		t.Cleanup(server.Close)
		run(t, suite.Stores{Notices: notice.New(notice.HTTP{URL: server.URL}, notice.Options{Now: time.Now}), Told: func(*testing.T) []*param.Map {
			mu.Lock()
			defer mu.Unlock()
			return told
		}})
	}})
}
