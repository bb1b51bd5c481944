//go:build linux

package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// broken is a transport that fails each request.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the line is cut")
}

// TestNoLinkInErrors checks that no error of the connection to the store, which is printed or shown to users, contains
// the query of a link: the query contains a signature.
func TestNoLinkInErrors(t *testing.T) {
	t.Parallel()
	nobody := httptest.NewServer(nil)
	nobody.Close()
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(loop.Close)
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "AccessDenied", http.StatusForbidden) }))
	t.Cleanup(refuses.Close)
	for name, begin := range map[string]string{"nobody is there": nobody.URL, "in a circle": loop.URL, "refused": refuses.URL, "no link": "http://a b", "of no kind": "nowhere://host"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			link := begin + "/log?X-Amz-Signature=hunter2"
			a := newAPI(settings{})
			put := a.put(t.Context(), link, "", []byte("x"))
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // there is no second try
			_, get := a.get(ctx, link)
			_, fetch := newArchives(a, filepath.Join(t.TempDir(), "work")).file(ctx, "key", link)
			for what, err := range map[string]error{"put": put, "get": get, "fetch": fetch} {
				if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "?") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // after the last try
		a := &api{client: &http.Client{Transport: broken{}}}
		if _, err := a.get(t.Context(), "http://store/log?X-Amz-Signature=hunter2"); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "the line is cut") {
			t.Errorf("get: %v", err)
		}
	})
}
