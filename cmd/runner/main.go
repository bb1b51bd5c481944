//go:build linux

// Command runner runs the commands of one attempt on a dedicated machine: it fetches them, runs each under a separate
// user if possible, sends their output, reports how they ended, and leaves when there are no more.
//
// It is put into arbitrary images, so it is static and uses only the standard library. Its settings are ZERODAG_URL,
// the address of the API, ZERODAG_TICKET, which is valid for one pass that exists only in its memory, and
// ZERODAG_SLOTS, how many commands it runs at a time. While the API does not respond, or throttles it, its commands
// continue, and their output is stored on its disk. Package sandbox is the server side.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// version is set at build time.
var version = "0.1.0"

func main() {
	if len(os.Args) > 1 && os.Args[1] == execWord {
		become(os.Args[2:]) // does not return
	}
	if len(os.Args) > 1 && os.Args[1] == "version" {
		fmt.Println(version)
		return
	}
	if len(os.Args) > 2 && os.Args[1] == onceWord {
		if err := once(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == microvmWord {
		address := hooksAddress
		if len(os.Args) > 2 {
			address = os.Args[2]
		}
		if err := serveHooks(ctx, address); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
			os.Exit(1)
		}
		return
	}
	r, err := newRunner(os.Getenv)
	if err == nil {
		err = r.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}

// settings are read once and then removed from the environment.
type settings struct {
	url, ticket string
	slots       int
	work        string        // the workspace folder
	image       string        // for messages
	machine     string        // the launcher's name for it, if one was given
	grace       time.Duration // between TERM and KILL
}

// Time limits of the runner. It must give up before the server does (sandbox.deafTime), which then ends the machine
// and, once it has ended, runs the commands elsewhere.
const (
	defaultGrace = 4 * time.Second
	deafTime     = 15 * time.Minute
)

func readSettings(env func(string) string) (settings, error) {
	s := settings{url: strings.TrimSuffix(env("ZERODAG_URL"), "/"), ticket: env("ZERODAG_TICKET"), work: env("ZERODAG_WORK"), image: env("ZERODAG_IMAGE"), machine: env("ZERODAG_MACHINE"), slots: 1, grace: defaultGrace}
	if s.url == "" || s.ticket == "" {
		return s, fmt.Errorf("ZERODAG_URL and ZERODAG_TICKET must be set: this program is started by zerodag, not by hand")
	}
	if text := env("ZERODAG_SLOTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, fmt.Errorf("ZERODAG_SLOTS must be 1 or more but is %q", text)
		}
		s.slots = n
	}
	if text := env("ZERODAG_GRACE"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return s, fmt.Errorf("ZERODAG_GRACE must be a duration, such as 10s, but is %q", text)
		}
		s.grace = d
	}
	var err error
	s.work, err = workFolder(s.work)
	return s, err
}

// workFolder returns where workspaces are created: next to the program, which is on a writable volume even if the root
// file system is read-only.
func workFolder(named string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	candidates := []string{filepath.Join(filepath.Dir(program), "work"), filepath.Join(os.TempDir(), "zerodag-runner-"+strconv.Itoa(os.Getpid()))}
	if named != "" {
		candidates = []string{named}
	}
	for _, dir := range candidates {
		if err = os.MkdirAll(dir, 0o711); err != nil { // #nosec G301 -- commands of other users pass through it to folders of their own, and list nothing
			continue
		}
		probe, e := os.MkdirTemp(dir, "probe")
		if err = e; err == nil {
			os.Remove(probe)
			return dir, nil
		}
	}
	return "", fmt.Errorf("no folder for workspaces can be created (%w): the image needs a writable %s", err, candidates[0])
}
