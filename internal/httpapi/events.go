package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"zerodag/engine"
	"zerodag/internal/host"
)

// heartbeat is how long a stream may be silent: less than what proxies wait for.
const heartbeat = 15 * time.Second

// chunk bounds the text of one log event.
const chunk = 64 << 10

// feed is one server-sent-event stream of an attempt: `attempt` when its row changed,
// `task` for each task that changed, `log` for text of a run, `end` at last.
type feed struct {
	*call
	out     *bufio.Writer
	control *http.ResponseController
	id      host.Attempt
	row     string // the attempt as it was sent last
	tasks   map[engine.TaskID]stamp
	running map[string]bool // names of tasks that may still write
	logs    map[string]*logPart
	since   time.Time // of the position that the client resumes from
	looked  time.Time // when the logs were read last
	wait    time.Duration
	checked time.Time // when the token was looked at last
	told    bool      // something was sent
}

// stamp tells one state of a task from the next.
type stamp struct {
	state   engine.TaskState
	cancel  bool
	retries int
	updated time.Time
}

// logPart is how much of a log file was sent.
type logPart struct {
	size int64 // of the packed file when it was read last
	sent int64 // bytes of text
	done bool  // nothing more is expected
}

type logText struct {
	File   string `json:"file"`
	Task   string `json:"task"`
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

func getEvents(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	f := &feed{call: c, id: a, tasks: map[engine.TaskID]stamp{}, logs: map[string]*logPart{}, wait: c.Limits.Watch}
	position := c.r.Header.Get("Last-Event-ID")
	if position == "" {
		position = c.text("last_event_id")
	}
	if position == ended {
		c.w.WriteHeader(http.StatusNoContent) // tells the client not to come again
		return written{}, nil
	}
	f.resume(position)
	f.begin()
	if c.r.Method == http.MethodHead {
		return written{}, nil
	}
	ctx, cancel := context.WithCancel(c.ctx())
	defer cancel()
	if err := f.run(ctx); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		c.Logger.Warn("stream of an attempt broke off", "attempt", a.ID, "error", err)
	}
	return written{}, nil
}

func (f *feed) begin() {
	h := f.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	f.w.WriteHeader(http.StatusOK)
	f.out, f.control = bufio.NewWriter(f.w), http.NewResponseController(f.w)
	_ = f.control.SetReadDeadline(time.Time{}) // nothing more is read: a server must not miss it
	_ = f.flush()                              // run meets the same error
}

// flush sends what is written. A client that does not read for long is given up.
func (f *feed) flush() error {
	if err := f.control.SetWriteDeadline(time.Now().Add(2 * heartbeat)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := f.out.Flush(); err != nil {
		return err
	}
	return f.control.Flush()
}

// run sends until the attempt is over, the client is gone or the server stops.
func (f *feed) run(ctx context.Context) error {
	steps := f.Node.Watch(ctx, f.id)
	over := false
	for beat := time.Now(); ; {
		begin := time.Now()
		done, err := f.round(ctx, over)
		if err != nil || over || f.told && f.Limits.Stream > 0 && !done {
			return err
		}
		if done { // also where the steps are another process's: the rest of the logs, and the end
			over = true
			continue
		}
		if time.Since(beat) > heartbeat {
			beat = time.Now()
			fmt.Fprint(f.out, ":\n\n")
		}
		// Many steps at once are one round; rounds take a fifth of the time at most.
		if !f.pause(ctx, max(minRound, 4*time.Since(begin))) {
			return nil
		}
		if !f.stillMay(ctx) {
			return nil
		}
		look := time.NewTimer(min(f.wait, recheck))
		select {
		case _, open := <-steps:
			over = !open
		case <-look.C:
		case <-f.Stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		look.Stop()
	}
}

// recheck is how long after it was revoked a token may go on reading.
const recheck = 2 * time.Second

// stillMay says whether the stream's token is still good. It was shown when the stream began;
// where that cannot be looked up now, the next time will tell.
func (f *feed) stillMay(ctx context.Context) bool {
	if f.actor.By != ByToken || time.Since(f.checked) < recheck/2 {
		return true
	}
	f.checked = time.Now()
	t, err := f.Auth.Tokens.ByHash(ctx, f.actor.token)
	if err != nil {
		return !errors.Is(err, host.ErrNotFound)
	}
	return t.Site == f.actor.Site && t.Role == f.actor.Role.String()
}

// minRound is the least time between two rounds.
const minRound = 20 * time.Millisecond

// pause says whether the stream goes on after d.
func (f *feed) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.Stopping:
	case <-ctx.Done():
	}
	return false
}

// round sends what changed since the last one; done is that the attempt was over before.
func (f *feed) round(ctx context.Context, last bool) (done bool, err error) {
	begin := f.Now()
	a, err := f.Node.Attempt(ctx, f.actor.Site, f.id.ID)
	if err != nil {
		return false, err
	}
	if err := f.sendTasks(ctx, a); err != nil {
		return false, err
	}
	if err := f.sendLogs(ctx, a, last || a.Done); err != nil {
		return false, err
	}
	// The row comes last: once it says done, all tasks and texts were sent.
	if row := encode(attempt(a)); row != f.row {
		news := f.told || f.row != "" || f.since.IsZero() // a client that came back has seen it, as likely as not
		f.row = row
		f.event("attempt", row)
		f.told = news
	}
	if last {
		fmt.Fprintf(f.out, "event: end\nid: %s\ndata: {}\n\n", ended)
	} else {
		fmt.Fprintf(f.out, "id: %s\n\n", f.position(begin))
	}
	return a.Done, f.flush()
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types: a programmer's mistake
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (f *feed) event(name, data string) {
	f.told = true
	fmt.Fprintf(f.out, "event: %s\ndata: %s\n\n", name, data)
}

func (f *feed) sendTasks(ctx context.Context, a host.Attempt) error {
	var changed []restTask
	var wrong error
	err := f.Node.View(ctx, a, func(s *engine.State) {
		f.running = map[string]bool{}
		if s == nil {
			return
		}
		var mask masker
		if mask, wrong = f.Node.Masker(ctx, a, s); wrong != nil {
			return
		}
		for _, t := range s.Tasks() {
			if !t.State.Done() {
				f.running[t.Name] = true
			}
			now := stamp{t.State, t.Cancel, t.RetryCount, t.UpdatedAt}
			if before, known := f.tasks[t.ID]; known && before == now {
				continue
			}
			f.tasks[t.ID] = now
			if t.UpdatedAt.IsZero() || !t.UpdatedAt.Before(f.since) {
				changed = append(changed, task(s, t, a.CreatedAt, mask))
			}
		}
	})
	for _, t := range changed {
		f.event("task", encode(t))
	}
	return errors.Join(err, wrong)
}

func (f *feed) sendLogs(ctx context.Context, a host.Attempt, last bool) error {
	begin := time.Now()
	if !last && begin.Sub(f.looked) < f.wait {
		return nil
	}
	files, err := f.Node.LogFiles(ctx, a, "")
	if err != nil {
		return err
	}
	for _, file := range files {
		p := f.logs[file.Name]
		if p == nil {
			p = &logPart{}
			if file.Time.Before(f.since) { // not named in the position: sent in full
				p.size = file.Size
			}
			f.logs[file.Name] = p
		}
		if p.done = p.size == file.Size && !f.running[file.TaskName]; p.size == file.Size {
			continue
		}
		if err := f.sendLog(ctx, a, file, p, last); err != nil {
			return err
		}
		p.size = file.Size
	}
	// A file is read from its beginning each time: large ones are looked at less often.
	f.looked, f.wait = time.Now(), max(f.Limits.Watch, 20*time.Since(begin))
	return nil
}

// sendLog sends what a file has beyond what was sent. A file that is being written may
// end anywhere: the rest comes with a later round.
func (f *feed) sendLog(ctx context.Context, a host.Attempt, file host.LogFile, p *logPart, last bool) error {
	packed, _, err := f.Node.LogFile(ctx, a, file.Name)
	if errors.Is(err, host.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return nil // not even its beginning is written
	}
	if _, err := io.CopyN(io.Discard, text, p.sent); err != nil {
		return nil
	}
	buffer, rest := make([]byte, chunk), 0
	for {
		n, err := io.ReadFull(text, buffer[rest:])
		part := buffer[:rest+n]
		if err == nil || !last {
			part = wholeRunes(part)
		}
		if len(part) > 0 {
			f.event("log", encode(logText{file.Name, file.TaskName, p.sent, string(part)}))
			p.sent += int64(len(part))
		}
		if err != nil {
			return nil
		}
		rest = copy(buffer, buffer[len(part):rest+n])
	}
}

// wholeRunes leaves out a character at the end whose bytes are not all there.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}
