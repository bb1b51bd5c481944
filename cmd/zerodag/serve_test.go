package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"zerodag/cmd/zerodag/internal/cli"
)

// serve is a script command: `serve NAME [-o DIR] [options...]` starts a server, in memory or on a folder, that lives
// as long as the script, and sets $NAME to its address. It reads the script's server.properties, if there is one, and
// no settings from this machine.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: serve NAME [options...]")
	}
	place, options := []string{"--memory"}, args[1:]
	if len(options) > 1 && options[0] == "-o" {
		place, options = []string{"-o", ts.MkAbs(options[1])}, options[2:]
	}
	config := ts.MkAbs("server.properties")
	if _, err := os.Stat(config); errors.Is(err, fs.ErrNotExist) {
		ts.Check(os.WriteFile(config, nil, 0o644))
	}
	ctx, stop := context.WithCancel(context.Background())
	out := &listening{found: make(chan string, 1)}
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, slices.Concat([]string{"server", "--port", "0", "-c", config}, place, options), cli.Streams{In: strings.NewReader(""), Out: out, Err: &errs, ProgramVersion: version()})
	}()
	select {
	case address := <-out.found:
		ts.Setenv(args[0], address)
	case code := <-ended:
		stop()
		ts.Fatalf("the server ended with code %d\n%s%s", code, out, &errs)
	}
	ts.Defer(func() {
		stop()
		<-ended
	})
}

// listening is a server's log, which contains its address.
type listening struct {
	mu    sync.Mutex
	text  bytes.Buffer
	found chan string
	done  bool
}

func (l *listening) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if m := regexp.MustCompile(`Listening on (http://[^\s"]+)`).FindSubmatch(l.text.Bytes()); m != nil && !l.done {
		l.done = true
		l.found <- string(m[1])
	}
	return len(p), nil
}

func (l *listening) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
