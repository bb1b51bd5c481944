//go:build linux

package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
)

// TestFetcherEnded checks that a command that waits for an archive gets it even if the command that fetches the archive
// is ended: the waiting command then fetches it itself.
func TestFetcherEnded(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	begun := make(chan struct{})
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			close(begun)
			<-r.Context().Done()
			return
		}
		io.WriteString(w, "archive")
	}))
	defer store.Close()
	a := newArchives(&api{client: store.Client()}, t.TempDir())
	ctx, end := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := a.file(ctx, "k", store.URL)
		first <- err
	}()
	<-begun
	second := make(chan error)
	go func() {
		f, err := a.file(t.Context(), "k", store.URL)
		if err == nil {
			_, err = os.Stat(f.file)
		}
		second <- err
	}()
	end()
	if err := <-first; err == nil {
		t.Error("the command that was ended has got it")
	}
	if err := <-second; err != nil {
		t.Errorf("the other one: %v", err)
	}
}

// TestSpoilt checks that an archive that cannot be unpacked is fetched again for the next command.
func TestSpoilt(t *testing.T) {
	t.Parallel()
	text := "spoilt"
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
	defer store.Close()
	a := newArchives(&api{client: store.Client()}, t.TempDir())
	read := func() (*fetched, string) {
		t.Helper()
		f, err := a.file(t.Context(), "k", store.URL)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(f.file)
		if err != nil {
			t.Error(err)
		}
		return f, string(content)
	}
	old, _ := read()
	text = "sound"
	a.forget("k", old)
	if _, got := read(); got != "sound" {
		t.Errorf("the next command has %q", got)
	}
	a.forget("k", old) // by another command, which got the first copy
	if _, got := read(); got != "sound" {
		t.Errorf("the one after it has %q", got)
	}
}
