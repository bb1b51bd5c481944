package rest_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/httpapi"
)

// recordedVersion is the version of the server whose answers were recorded.
const recordedVersion = "0.10.6-SNAPSHOT"

// serve runs a whole server in memory.
func serve(t *testing.T, auth httpapi.Auth) *httptest.Server {
	t.Helper()
	engine, err := embedded.Open(t.Context(), embedded.Options{Temp: t.TempDir(), Migrate: true, SecretKey: []byte("0123456789abcdef"), Notices: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		engine.Run(ctx, ctx, host.Parts{Executor: true, Scheduler: true, Agent: true})
	}()
	stopping := make(chan struct{})
	auth.Tokens, auth.Audit = engine.DB, engine.DB
	handler, err := httpapi.New(httpapi.Options{Host: engine.Host, Version: recordedVersion, Auth: auth, Stopping: stopping,
		Limits: httpapi.Limits{Watch: 20 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		close(stopping)
		server.Close()
		cancel()
		<-ended
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// archive packs files.
func archive(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))})
		_, _ = w.Write([]byte(files[name]))
	}
	_ = w.Close() // into memory: cannot fail
	_ = z.Close()
	return b.Bytes()
}

// project holds the workflows of the recorded pushes.
func project() []byte {
	return archive(map[string]string{
		"slow.dig":  "+a:\n  sh>: sleep 3\n",
		"sched.dig": "schedule:\n  daily>: 07:00:00\n+a:\n  echo>: s\n",
		"main.dig":  "timezone: Asia/Tokyo\n+a:\n  echo>: hello\n+b:\n  sh>: echo b\n",
		"bad.dig":   "+a:\n  fail>: oops\n",
	})
}

// nobody is told anything: the original was recorded without notifications.
type nobody struct{}

func (nobody) Notify(context.Context, host.Notice) error { return nil }
