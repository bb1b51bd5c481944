//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Default limits of commands.
const (
	mostProcesses = 1024
	mostOutput    = 1 << 30
)

// Limits for output that is read back, in bytes: package sandbox has the same limits.
const (
	maxOutput    = 16 << 20
	inlineOutput = 100 << 10
)

// execute runs one command from beginning to end, and removes everything that it leaves.
func (r *runner) execute(ctx context.Context, o order) result {
	if o.Spec.Limits.Processes == 0 {
		o.Spec.Limits.Processes = mostProcesses
	}
	if o.Spec.Limits.Output == 0 {
		o.Spec.Limits.Output = mostOutput
	}
	c := &command{runner: r, order: o, user: r.users.user(), refused: make(chan struct{}, 1), ended: make(chan struct{})}
	c.log = newOutput(r, o)
	c.log.exceed = func() { c.end(tooMuchOutput(o.Spec.Limits.Output)) }
	c.log.refused = func() {
		select {
		case c.refused <- struct{}{}:
		default:
		}
	}
	following, stop := context.WithCancel(context.Background())
	go c.log.follow(following)
	res := c.run(ctx)
	stop()
	last, cancel := lasting(ctx)
	defer cancel()
	return c.log.complete(last, res)
}

// lastTime is how long a terminated command may take to deliver its output.
const lastTime = time.Minute

// lasting returns a context that ends some time after ctx: a command's output is delivered for as long as that takes,
// unless the command, or the runner, is terminated.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		sleep(last, lastTime)
		cancel()
	})
	return last, func() { stop(); cancel() }
}

// command is a running command.
type command struct {
	*runner
	order
	user    int
	root    string // the project's folder
	home    string // next to it: HOME, and temporary files
	log     *output
	pid     int
	signal  int // the signal that ended it
	why     reason
	refused chan struct{} // closed when the command reports that it cannot start a process
	ended   chan struct{}
}

// run creates the workspace, runs the command in it, and removes the workspace.
func (c *command) run(ctx context.Context) result {
	folder, err := c.workspace(ctx)
	if folder != "" {
		defer c.clear(folder)
	}
	if err != nil {
		return result{Code: 1, Why: "The command could not be prepared: " + err.Error()}
	}
	code, err := c.process(ctx)
	if err != nil {
		return result{Code: 1, Why: "The command could not be started: " + err.Error()}
	}
	if why := c.why.get(); why != "" {
		return result{Code: code, Why: why}
	}
	return c.outputs(ctx, code)
}

// workspace creates the folders of the command: all of them belong to the command's user, and are closed to others.
func (c *command) workspace(ctx context.Context) (folder string, err error) {
	archive, err := c.archives.file(ctx, c.Spec.Archive, c.Archive)
	if err != nil {
		return "", err
	}
	folder, err = os.MkdirTemp(c.work, "command-")
	if err != nil {
		return "", err
	}
	name := filepath.Base(filepath.Clean("/" + c.Spec.Name))
	if name == "/" {
		name = "project"
	}
	c.root, c.home = filepath.Join(folder, name), filepath.Join(folder, "home")
	if err := os.Chmod(folder, 0o700); err != nil { // #nosec G302 -- it is a folder, which only its owner enters
		return folder, err
	}
	for _, dir := range []string{folder, c.root, c.home, filepath.Join(c.home, "tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return folder, err
		}
		if err := c.own(dir); err != nil {
			return folder, err
		}
	}
	if err := unpack(archive.file, c.root, c.user); err != nil {
		c.archives.forget(c.Spec.Archive, archive)
		return folder, err
	}
	return folder, c.scratch()
}

func (c *command) own(name string) error {
	if c.user == 0 {
		return nil
	}
	return os.Lchown(name, c.user, c.user)
}

// scratch writes the command's own files to its scratch folder.
func (c *command) scratch() error {
	if c.Spec.Scratch == "" {
		return nil
	}
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return err
	}
	defer root.Close()
	dir := filepath.FromSlash(path.Clean(c.Spec.Scratch))
	if err := makeParents(root, dir, c.user); err != nil {
		return err
	}
	for name, content := range c.Spec.Files {
		file := filepath.Join(dir, name)
		if err := root.WriteFile(file, content, 0o600); err != nil {
			return err
		}
		if err := own(root, file, c.user); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the image's environment, then the command's. The command has its own HOME and TMPDIR.
func (c *command) environment(dir string) []string {
	env := append(os.Environ(), "HOME="+c.home, "TMPDIR="+filepath.Join(c.home, "tmp"), "PWD="+dir)
	env = slices.DeleteFunc(env, func(pair string) bool {
		return strings.HasPrefix(pair, "ECS_CONTAINER_METADATA_URI") || strings.HasPrefix(pair, "ECS_AGENT_URI")
	})
	return append(env, c.Spec.Env...) // the last one of each name counts
}

// process starts the command, watches it, and ends everything that is left of it.
func (c *command) process(ctx context.Context) (code int, err error) {
	dir := filepath.Join(c.root, filepath.FromSlash(c.Spec.Dir))
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	// The kernel's limit is higher, so that the watch is the first to notice that the limit is exceeded: a command whose
	// fork is refused may end in many ways, none of which shows the reason.
	processes := uint64(c.Spec.Limits.Processes + max(c.Spec.Limits.Processes, 1000))
	if c.user == 0 {
		processes = 0 // it would be counted together with others of this user
	}
	setting, err := json.Marshal(becoming{Processes: processes, Image: c.image})
	if err != nil {
		return 0, err
	}
	x := exec.Command(program, append([]string{execWord, string(setting)}, c.Spec.Args...)...)
	x.Dir, x.Env = dir, c.environment(dir)
	x.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.user != 0 {
		x.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(c.user), Gid: uint32(c.user)}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	x.Stdout, x.Stderr = w, w // one pipe, to keep their order
	wrong, said, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer wrong.Close()
	x.ExtraFiles = []*os.File{said}
	ooms := oomKills()
	if err := x.Start(); err != nil {
		r.Close()
		w.Close()
		said.Close()
		if _, e := os.Stat(dir); e != nil {
			return 0, fmt.Errorf("there is no folder %s in the project", c.Spec.Dir)
		}
		return 0, err
	}
	w.Close()
	said.Close()
	c.pid = x.Process.Pid
	copied := make(chan struct{})
	go func() { defer close(copied); io.Copy(c.log, r) }()
	go c.watch(ctx)
	if text, _ := io.ReadAll(wrong); len(text) > 0 { // it ends when the command begins
		c.why.set(string(text))
	}
	err = x.Wait()
	close(c.ended)
	sweep(c.user)
	select {
	case <-copied:
	case <-time.After(5 * time.Second): // the process that may still hold the pipe was not found
	}
	r.Close()
	return c.code(x.ProcessState, ooms, err)
}

// code returns the exit code, 128 + n for a signal. The kernel's own kill has a separate reason.
func (c *command) code(s *os.ProcessState, ooms int, err error) (int, error) {
	status, known := s.Sys().(syscall.WaitStatus)
	if !known {
		return 0, errors.Join(errors.New("its outcome is unknown"), err)
	}
	if !status.Signaled() {
		code := status.ExitStatus()
		if code == 128+int(syscall.SIGKILL) && oomKills() > ooms {
			c.why.set(outOfMemory(c.Spec.Limits.Memory))
		}
		return code, nil
	}
	if status.Signal() == syscall.SIGKILL && oomKills() > ooms {
		c.why.set(outOfMemory(c.Spec.Limits.Memory))
	}
	c.signal = int(status.Signal())
	return 128 + int(status.Signal()), nil
}

// outputs reads the files that the command has written for its task.
func (c *command) outputs(ctx context.Context, code int) result {
	res := result{Code: code, Signal: c.signal, Outputs: map[string][]byte{}, Blobs: map[string]string{}}
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return result{Code: 1, Why: "The output of the command cannot be read: " + err.Error()}
	}
	defer root.Close()
	inline := 0
	for _, name := range c.Spec.Outputs {
		content, err := readOutput(root, filepath.Join(filepath.FromSlash(c.Spec.Scratch), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && inline+len(content) > inlineOutput {
			res.Blobs[name], err = c.upload(ctx, name, content)
		} else if err == nil {
			inline += len(content)
			res.Outputs[name] = content
		}
		if err != nil {
			return result{Code: 1, Why: fmt.Sprintf("%s of the command cannot be read: %v", name, err)}
		}
	}
	return res
}

// readOutput reads a regular file of the command. It is opened without blocking, since it may be a pipe.
func readOutput(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxOutput:
		return nil, fmt.Errorf("it is %d bytes, but at most %d are allowed", info.Size(), maxOutput)
	}
	return io.ReadAll(io.LimitReader(f, maxOutput))
}

func (c *command) upload(ctx context.Context, name string, content []byte) (blob string, err error) {
	err = c.api.deliver(ctx, func() error {
		g, err := c.api.place(ctx, wanted{c.Key, upload{Kind: "output", Name: name, Size: int64(len(content))}})
		if err != nil {
			return err
		}
		blob = g.Blob
		return c.api.put(ctx, g.URL, "", content)
	})
	if err != nil {
		return "", fmt.Errorf("it could not be stored: %w", err)
	}
	return blob, nil
}

// clear removes what the command has left: its folders, and its files in world-writable folders.
func (c *command) clear(folder string) {
	if err := os.RemoveAll(folder); err != nil {
		fmt.Fprintf(os.Stderr, "runner: remove the workspace of command %s: %v\n", c.Key, err)
	}
	if c.user == 0 {
		return
	}
	for _, shared := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		names, _ := os.ReadDir(shared) // unreadable folders were not written to
		for _, name := range names {
			file := filepath.Join(shared, name.Name())
			var s syscall.Stat_t
			if syscall.Lstat(file, &s) == nil && int(s.Uid) == c.user {
				os.RemoveAll(file)
			}
		}
	}
}
