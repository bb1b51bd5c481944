//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// microvmWord is the first argument of this program when a Lambda MicroVM runs it. The second, if there is one, is
// where it listens.
const microvmWord = "microvm"

// hooksAddress is where Lambda calls the hooks: the port that infra/deployment gives the image. They are not called on
// loopback.
const hooksAddress = ":9000"

// hooksPath is the prefix of hook paths.
const hooksPath = "/aws/lambda-microvms/runtime/v1/"

// mostStart limits the payload of a machine's start, in bytes: Lambda accepts at most 16 KB.
const mostStart = 64 << 10

// hooks handles the calls by which Lambda announces the start and end of a MicroVM. This process is in the snapshot
// from which all machines start, so everything in its memory is shared. The runner is a separate process, started
// later.
type hooks struct {
	program string
	wait    time.Duration // for the runner, when the machine ends
	local   func(net.Addr) bool

	mu      sync.Mutex
	started start
	over    chan struct{} // the runner has ended; nil before it began
	child   *os.Process
}

// start is the payload of a machine's start: package microvm is the other side.
type start struct {
	URL    string `json:"url"`
	Ticket string `json:"ticket"`
	Slots  int    `json:"slots"`
}

// serveHooks serves the hooks until ctx ends.
func serveHooks(ctx context.Context, address string) error {
	hide()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for hooks: %w", err)
	}
	h := &hooks{program: program, wait: terminateTime, local: isLocal}
	fmt.Printf("runner %s: waits for hooks at %s\n", version, l.Addr())
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() {
		h.end()
		server.Close()
	})()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// terminateTime is how long the end of a machine waits for its commands to end and their logs to be stored: less than
// the image's terminateTimeoutInSeconds.
const terminateTime = 25 * time.Second

func (h *hooks) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+hooksPath+"ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+hooksPath+"validate", h.validate)
	mux.HandleFunc("POST "+hooksPath+"run", h.run)
	mux.HandleFunc("POST "+hooksPath+"terminate", h.terminate)
	return mux
}

// validate fails the build of an image in which no command can run.
func (h *hooks) validate(w http.ResponseWriter, r *http.Request) {
	if out, err := exec.CommandContext(r.Context(), "/bin/sh", "-c", "true").CombinedOutput(); err != nil {
		http.Error(w, fmt.Sprintf("the image has no shell for commands: %v %s", err, out), http.StatusInternalServerError)
	}
}

// run starts the runner, once.
func (h *hooks) run(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostStart))
	var s start
	var id string
	if err == nil {
		s, id, err = readStart(body)
	}
	if errors.Is(err, errNothing) {
		fmt.Println("runner: nothing to run: this is a test of the image")
		return
	}
	if err != nil {
		http.Error(w, "the parameters of this machine cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over != nil && h.started == s: // Lambda repeats the call
		return
	case h.over != nil:
		http.Error(w, "this machine has already started", http.StatusConflict)
		return
	}
	c := exec.Command(h.program, "run") // #nosec G204 -- it is this program
	c.Env = append(os.Environ(), "ZERODAG_URL="+s.URL, "ZERODAG_TICKET="+s.Ticket, "ZERODAG_SLOTS="+strconv.Itoa(s.Slots), "ZERODAG_IMAGE="+microvmImage, "ZERODAG_MACHINE="+id)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		http.Error(w, "the runner could not be started: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h.started, h.child, h.over = s, c.Process, make(chan struct{})
	go func() {
		if err := c.Wait(); err != nil {
			fmt.Fprintln(os.Stderr, "runner:", err)
		}
		close(h.over)
	}()
}

// microvmImage is the name of the commands' image in messages.
const microvmImage = "the image of the stage's MicroVMs"

// errNothing is the error of a machine that is started without a payload, as Lambda does to test an image.
var errNothing = errors.New("there is nothing to run")

// readStart reads the body of the hook /run: the payload of RunMicrovm and the id of the machine, nested or in one
// object.
func readStart(body []byte) (s start, id string, err error) {
	type payload struct {
		Zerodag *start `json:"zerodag"`
	}
	var in struct {
		payload
		ID      string          `json:"microvmId"`
		Payload json.RawMessage `json:"runHookPayload"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			return s, "", err
		}
	}
	if in.Zerodag == nil {
		text := []byte(in.Payload)
		var quoted string
		if len(text) > 0 && json.Unmarshal(text, &quoted) == nil {
			text = []byte(quoted)
		}
		if len(text) == 0 {
			return s, "", errNothing
		}
		if err := json.Unmarshal(text, &in.payload); err != nil {
			return s, "", fmt.Errorf("runHookPayload: %w", err)
		}
	}
	if in.Zerodag == nil || in.Zerodag.URL == "" || in.Zerodag.Ticket == "" || in.Zerodag.Slots < 1 {
		return s, "", errors.New("url, ticket and slots are required")
	}
	return *in.Zerodag, in.ID, nil
}

// terminate makes the runner end its commands, and returns when it has. Calls from the machine itself are ignored,
// since a command could make them.
func (h *hooks) terminate(_ http.ResponseWriter, r *http.Request) {
	if from, _ := net.ResolveTCPAddr("tcp", r.RemoteAddr); from == nil || h.local(from) {
		fmt.Fprintln(os.Stderr, "runner: ignored a call of the hook terminate from this machine")
		return
	}
	h.end()
}

// end makes the runner end, and waits for it.
func (h *hooks) end() {
	h.mu.Lock()
	child, over := h.child, h.over
	h.mu.Unlock()
	if child == nil {
		return
	}
	if err := child.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		fmt.Fprintln(os.Stderr, "runner:", err)
	}
	select {
	case <-over:
	case <-time.After(h.wait):
	}
}

// isLocal reports whether an address belongs to this machine.
func isLocal(a net.Addr) bool {
	from, is := a.(*net.TCPAddr)
	if !is || from.IP.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(x net.Addr) bool {
		n, is := x.(*net.IPNet)
		return is && n.IP.Equal(from.IP)
	})
}
