//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// onceWord is the first argument of this program when it runs only one command, which it reads: functions run commands
// this way. The second is a folder that only the function uses.
const onceWord = "once"

// functionImage is the name of the commands' image in messages.
const functionImage = "the function of commands (Python 3.13)"

// keptArchives is how many bytes of project archives a function keeps: a quarter of its disk.
const keptArchives = 512 << 20

// once runs the command that it reads, writes its result, and leaves nothing in folder except the archive of its
// project.
func once(folder string, in io.Reader, out io.Writer) error {
	hide()
	var c call
	if err := json.NewDecoder(in).Decode(&c); err != nil {
		return fmt.Errorf("read the command: %w", err)
	}
	if err := forget(); err != nil {
		return err
	}
	work := filepath.Join(folder, "zerodag")
	if err := clean(folder, work); err != nil { // the last command may have been interrupted
		return err
	}
	if err := os.MkdirAll(work, 0o711); err != nil { // #nosec G301 -- commands of other users pass through it to folders of their own, and list nothing
		return err
	}
	a := newAPI(settings{})
	a.places = &places{logs: c.Logs, outputs: c.Outputs}
	kept := newArchives(a, work)
	kept.most = keptArchives
	r := &runner{settings: settings{work: work, image: functionImage, grace: defaultGrace}, api: a, archives: kept, users: &users{}} // all share one user there
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	go a.untilKilled(ctx, c.Killed, kill)
	res := r.execute(ctx, c.order)
	if err := clean(folder, work); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(res)
}

// killTime is how often a call checks whether it was killed.
const killTime = 2 * time.Second

// untilKilled polls a link whose content means that the call was killed, and then ends the call. Failed reads are
// retried.
func (a *api) untilKilled(ctx context.Context, url string, kill func()) {
	for url != "" && sleep(ctx, killTime) {
		if a.there(ctx, url) {
			kill()
			return
		}
	}
}

// there reports whether a link has content.
func (a *api) there(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	out, err := a.client.Do(r)
	if err != nil {
		return false
	}
	defer out.Body.Close()
	io.Copy(io.Discard, out.Body) // so that the connection can be used again
	return out.StatusCode == http.StatusOK
}

// forget removes the function's own settings from the environment: its credentials, and the access to its caller.
func forget() error {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if functionsOwn(name) {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func functionsOwn(name string) bool {
	if name == "AWS_REGION" || name == "AWS_DEFAULT_REGION" {
		return false
	}
	for _, prefix := range []string{"AWS_", "LAMBDA_", "_", "ZERODAG_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// clean removes everything but archives from the function's folder.
func clean(folder, work string) error {
	for _, dir := range []string{folder, work} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			name := filepath.Join(dir, e.Name())
			if name == work || name == filepath.Join(work, "archives") {
				continue
			}
			if err := removeAll(name); err != nil {
				return fmt.Errorf("remove the files of a command: %w", err)
			}
		}
	}
	return nil
}

// removeAll also removes folders that a command has closed to its own user.
func removeAll(name string) error {
	err := os.RemoveAll(name)
	if err == nil {
		return nil
	}
	filepath.WalkDir(name, func(file string, e fs.DirEntry, _ error) error { // failures here show up below
		if e != nil && e.IsDir() {
			os.Chmod(file, 0o700) // #nosec G122 G302 -- the folders are those of a command that is over, and are deleted next
		}
		return nil
	})
	return os.RemoveAll(name)
}

// places holds upload locations that were given in advance.
type places struct {
	logs    []string
	outputs map[string]given
	began   []int64 // of the parts of the log that have a place
}

// place assigns each part of the log one of the places, always the same one.
func (p *places) place(u upload) (given, error) {
	if u.Kind == "output" {
		g, found := p.outputs[u.Name]
		if !found {
			return g, fmt.Errorf("there is no place for %s", u.Name)
		}
		return g, nil
	}
	for i, began := range p.began {
		if began == u.Began {
			return given{URL: p.logs[i]}, nil
		}
	}
	if len(p.began) == len(p.logs) {
		return given{}, fmt.Errorf("%w: the log already has all its %d parts", errOver, len(p.logs))
	}
	p.began = append(p.began, u.Began)
	return given{URL: p.logs[len(p.began)-1]}, nil
}

// partSize returns how large a part of a log may become. If there are few places, each is twice as large as the
// previous one.
func (a *api) partSize() int {
	if a.places == nil {
		return partSize
	}
	return partSize << (len(a.places.began) - 1)
}

// keepShort leaves a short log to be sent with the result if no part of it has been stored yet.
func (o *output) keepShort() bool {
	o.storing.Lock()
	defer o.storing.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.last(); len(o.parts) > 1 || p.content.Len() > 0 || p.stored > 0 || len(o.api.places.began) > 0 {
		return false
	}
	o.short = o.text
	return true
}

// kept reports whether an archive exists from an earlier command, and marks it as used now.
func (a *archives) kept(name string) bool {
	now := time.Now()
	return os.Chtimes(name, now, now) == nil
}

// discard removes archives, least recently used first, until the rest is small enough. It never removes the archive
// fetched last.
func (a *archives) discard(last string) {
	for {
		var total int64
		var oldest string
		var since time.Time
		entries, _ := os.ReadDir(a.folder) // unreadable folders cannot be cleaned
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue
			}
			total += info.Size()
			name := filepath.Join(a.folder, e.Name())
			if name != last && (oldest == "" || info.ModTime().Before(since)) {
				oldest, since = name, info.ModTime()
			}
		}
		if total <= a.most || oldest == "" || os.Remove(oldest) != nil {
			return
		}
	}
}
