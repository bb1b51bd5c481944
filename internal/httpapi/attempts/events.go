package attempts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"zerodag/engine"
	"zerodag/internal/host"
	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/tasklog"
)

// chunk limits how much text one log event contains.
const chunk = 64 << 10

// feed is one server-sent-event stream of an attempt: `attempt` when its row changed, `task` for each changed task,
// `log` for text from a run, and finally `end`.
type feed struct {
	*eventStream
	row     string // the attempt as it was last sent
	tasks   map[engine.TaskID]stamp
	running map[string]bool // names of tasks that may still write
	logs    map[string]*logPart
	since   time.Time // time of the position from which the client resumes
	looked  time.Time // when the logs were last read
}

// stamp distinguishes one state of a task from the next.
type stamp struct {
	state   engine.TaskState
	cancel  bool
	retries int
	updated time.Time
}

// logPart records how much of a log file was sent.
type logPart struct {
	size int64 // of the compressed file when it was last read
	sent int64 // bytes of text that were sent
	done bool  // nothing more is expected
}

type logText struct {
	File   string `json:"file"`
	Task   string `json:"task"`
	Offset int64  `json:"offset"`
	Text   string `json:"text"`
}

func getEvents(c *endpoint.Call) (any, error) {
	a, err := c.AttemptOf("id")
	if err != nil {
		return nil, err
	}
	f := &feed{eventStream: streamOf(c, a), tasks: map[engine.TaskID]stamp{}, logs: map[string]*logPart{}}
	position := f.begin()
	if position == ended {
		return endpoint.Written{}, nil
	}
	f.resume(position)
	f.send(f.round)
	return endpoint.Written{}, nil
}

// round sends the changes since the last round; done reports whether the attempt had ended before it.
func (f *feed) round(ctx context.Context, last bool) (done bool, err error) {
	begin := f.Now()
	a, err := f.Node.Attempt(ctx, f.Actor.Site, f.of.ID)
	if err != nil {
		return false, err
	}
	if err := f.sendTasks(ctx, a); err != nil {
		return false, err
	}
	if err := f.sendLogs(ctx, a, last || a.Done); err != nil {
		return false, err
	}
	// The row comes last: once it is marked done, all tasks and all log text have been sent.
	shown, err := withPause(ctx, f.Call, a)
	if err != nil {
		return false, err
	}
	if row := encode(shown); row != f.row {
		news := f.told || f.row != "" || f.since.IsZero() // a client that reconnects has probably seen it
		f.row = row
		f.event("attempt", row)
		f.told = news
	}
	if last {
		f.end()
	} else {
		fmt.Fprintf(f.out, "id: %s\n\n", f.position(begin))
	}
	return a.Done, f.flush()
}

func (f *feed) sendTasks(ctx context.Context, a host.Attempt) error {
	var changed []wire.Task
	var wrong error
	err := f.Node.View(ctx, a, func(s *engine.State) {
		f.running = map[string]bool{}
		if s == nil {
			return
		}
		var mask wire.Masker
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
				changed = append(changed, wire.TaskOf(s, t, a.CreatedAt, mask))
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
			if file.Time.Before(f.since) { // not named in the position, so it was sent in full
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
	// A file is read from its beginning each time, so large files are read less often.
	f.looked, f.wait = time.Now(), max(f.Limits.Watch, 20*time.Since(begin))
	return nil
}

// sendLog sends the new part of a file. A file that is being written may end anywhere; the rest comes in a later round.
func (f *feed) sendLog(ctx context.Context, a host.Attempt, file host.LogFile, p *logPart, last bool) error {
	packed, _, err := f.Node.LogFile(ctx, a, file.Name)
	if errors.Is(err, host.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	defer packed.Close()
	text, err := tasklog.After(packed, p.sent)
	if err != nil {
		return nil // the file is shorter than that
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

// wholeRunes removes an incomplete character at the end.
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
