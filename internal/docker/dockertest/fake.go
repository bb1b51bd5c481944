// Package dockertest is a program that stands in for docker's command line without an engine: it records its arguments
// and runs the commands of containers on this machine.
//
// It checks how the driver calls docker and interprets the responses, not that a real engine behaves the same way. Only
// tests may import it.
package dockertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Main makes a test binary act as the fake if it was started under the name docker. TestMain must call it first.
func Main() {
	if filepath.Base(os.Args[0]) != "docker" {
		return
	}
	program, err := exec.LookPath(os.Args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(fake{filepath.Dir(program)}.main(os.Args[1:]))
}

// Fake is one such program with its engine's state.
type Fake struct{ folder string }

// New creates a Fake.
func New(t *testing.T) Fake {
	t.Helper()
	self, err := os.Executable()
	folder := t.TempDir()
	if err == nil {
		err = os.Symlink(self, filepath.Join(folder, "docker"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return Fake{folder}
}

// Program returns the path of the fake.
func (f Fake) Program() string { return filepath.Join(f.folder, "docker") }

// Answer makes a subcommand ("info", "pull", "run" ...) fail with a message and an exit code.
func (f Fake) Answer(t *testing.T, word, text string, code int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, "answer-"+word), []byte(strconv.Itoa(code)+"\n"+text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// State sets what inspect returns for containers from now on.
func (f Fake) State(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, "state"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Calls returns the command lines so far, except queries.
func (f Fake) Calls(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.folder, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		list = append(list, strings.TrimSpace(line))
	}
	return list
}

// Containers lists the containers that have not been removed.
func (f Fake) Containers() []string {
	list, _ := filepath.Glob(filepath.Join(f.folder, "container-*"))
	return list
}

// Leave creates a container that was left behind.
func (f Fake) Leave(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, "container-"+name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Hang makes fetching an image take forever, so that no container is created.
func (f Fake) Hang(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, "hang"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

type fake struct{ folder string }

func (f fake) main(args []string) int {
	log, err := os.OpenFile(filepath.Join(f.folder, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintf(log, "%q\n", args)
	log.Close()
	if text, err := os.ReadFile(filepath.Join(f.folder, "answer-"+args[0])); err == nil {
		code, message, _ := strings.Cut(string(text), "\n")
		fmt.Fprintln(os.Stderr, message)
		n, _ := strconv.Atoi(code)
		return n
	}
	last := args[len(args)-1]
	switch args[0] {
	case "images":
		if _, err := os.Stat(f.image(last)); err == nil {
			fmt.Println("0123456789ab")
		}
	case "build":
		fmt.Println("Step 1/2 : FROM")
		os.WriteFile(f.image(args[slices.Index(args, "-t")+1]), nil, 0o644)
	case "run":
		return f.run(args[1:])
	case "kill", "rm":
		return f.end(args)
	case "inspect":
		return f.inspect()
	case "ps":
		for _, c := range Fake(f).Containers() {
			fmt.Println(strings.TrimPrefix(filepath.Base(c), "container-"))
		}
	}
	return 0
}

func (f fake) image(name string) string {
	return filepath.Join(f.folder, "image-"+strings.NewReplacer(":", ".", "/", ".").Replace(name))
}

func (f fake) inspect() int {
	text, err := os.ReadFile(filepath.Join(f.folder, "state"))
	if err != nil {
		text = []byte("false exited ")
	}
	fmt.Println(string(text))
	return 0
}

// flags lists options without a value.
var flags = []string{"--init", "--privileged", "--rm"} // never changed

// run runs a container's command with the variables that it would have.
func (f fake) run(args []string) int {
	env := []string{"PATH=" + os.Getenv("PATH")}
	dir, name := "/", ""
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		option, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && !slices.Contains(flags, option) {
			value, args = args[0], args[1:]
		}
		switch option {
		case "-e":
			env = append(env, value+"="+os.Getenv(value))
		case "--env-file":
			file, err := os.Open(value)
			if err != nil {
				fmt.Fprintln(os.Stderr, "docker:", err)
				return 125
			}
			for lines := bufio.NewScanner(file); lines.Scan(); {
				env = append(env, lines.Text())
			}
		case "-w":
			dir = value
		case "--name":
			name = value
		}
	}
	if _, err := os.Stat(filepath.Join(f.folder, "hang")); err == nil {
		fmt.Println("Unable to find image")
		time.Sleep(time.Hour)
	}
	x := exec.Command(args[1], args[2:]...)
	x.Dir, x.Env, x.Stdout, x.Stderr = dir, env, os.Stdout, os.Stderr
	x.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := x.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "docker: Error response from daemon:", err)
		return 127
	}
	os.WriteFile(filepath.Join(f.folder, "container-"+name), []byte(strconv.Itoa(x.Process.Pid)), 0o644)
	state, _ := x.Process.Wait()
	syscall.Kill(-x.Process.Pid, syscall.SIGKILL) // a container ends with its first process
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

func (f fake) end(args []string) int {
	signal, found := syscall.SIGKILL, 0
	if slices.Contains(args, "TERM") {
		signal = syscall.SIGTERM
	}
	for _, name := range args[1:] {
		file := filepath.Join(f.folder, "container-"+name)
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		found++
		if pid, err := strconv.Atoi(string(text)); err == nil {
			syscall.Kill(-pid, signal)
		}
		if args[0] == "rm" {
			os.Remove(file)
		}
	}
	if args[0] == "kill" && found == 0 {
		fmt.Fprintln(os.Stderr, "Error response from daemon: No such container")
		return 1
	}
	return 0
}
