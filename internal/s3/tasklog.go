package s3

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"zerodag/internal/tasklog"
	"zerodag/operators"
)

// gathered is how much text waits before it is compressed, as a separate gzip member: a run with a lot of output must
// not exhaust the memory.
const gathered = 64 << 10

// putTime limits one put; the log continues in the meantime.
const putTime = 30 * time.Second

// taskLog is one run's log.
type taskLog struct {
	logs   *Logs
	id     operators.Identity
	source string // the source of its lines

	mu      sync.Mutex
	text    []byte       // not compressed yet
	content bytes.Buffer // compressed: the future content of the object
	began   time.Time    // when its first text was written
	members int          // of content
	put     int          // how many bytes of content are in the object
	single  bool         // those bytes are one member in the object
	wait    time.Duration
	timer   *time.Timer
	closed  bool

	putting sync.Mutex // puts of one object happen one after the other
}

// Write appends output of a command. It never fails: see operators.Log.
func (t *taskLog) Write(p []byte) (int, error) {
	t.keep(p, "")
	return len(p), nil
}

// Echo appends the message of `echo>`, without a newline (engine.md 2.13).
func (t *taskLog) Echo(message string) { t.keep(nil, message) }

// Line appends a message from the engine.
func (t *taskLog) Line(level operators.Level, logger, message string) {
	t.keep(nil, t.logs.Form.Line(t.logs.Now(), level, t.source, logger, message))
}

func (t *taskLog) keep(p []byte, s string) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return
	}
	if t.began.IsZero() {
		t.began = t.logs.unique(t.logs.Now())
	}
	t.text = append(append(t.text, p...), s...)
	if len(t.text) >= gathered {
		t.compress()
	}
	full := t.content.Len() >= t.logs.Rotate
	if t.timer == nil && !full {
		t.timer = time.AfterFunc(t.wait, t.tick)
	}
	t.mu.Unlock()
	if full {
		t.store(true) //nolint:errcheck // the text is kept, and a lasting failure is reported at the end
	}
}

// compress adds the gathered text to the content as a member. The lock must be held.
func (t *taskLog) compress() {
	if len(t.text) == 0 {
		return
	}
	t.logs.zips.Compress(t.text, func(content []byte) error { //nolint:errcheck // to memory
		t.content.Write(content)
		return nil
	})
	t.members++
	t.text = t.text[:0]
}

// tick shows the current text to live viewers.
func (t *taskLog) tick() {
	t.store(false) //nolint:errcheck // the text is kept, and a lasting failure is reported at the end
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = nil
	t.wait = min(2*t.wait, t.logs.LongestMoment)
	if !t.closed && len(t.text) > 0 {
		t.timer = time.AfterFunc(t.wait, t.tick)
	}
}

// store puts the object's current content; with rotate, the log then continues in another object.
func (t *taskLog) store(rotate bool) error {
	t.putting.Lock()
	defer t.putting.Unlock()
	t.mu.Lock()
	t.compress()
	content, name := bytes.Clone(t.content.Bytes()), tasklog.Name(t.id.TaskName, t.logs.AgentID, t.began)
	join := (rotate || t.closed) && t.members > 1 // a finished log is one member, which a browser can show
	if len(content) == t.put && (!join || t.single) || rotate && len(content) < t.logs.Rotate {
		t.mu.Unlock()
		return nil
	}
	t.mu.Unlock()
	object := content
	if join {
		object = t.logs.zips.Single(content)
	}
	if err := t.logs.putObject(t.logs.folder(t.id.SiteID, t.id.AttemptID)+name, object); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put, t.single = len(content), join
	if rotate {
		t.compress()
		rest := bytes.Clone(t.content.Bytes()[len(content):])
		t.content.Reset()
		t.content.Write(rest)
		t.put, t.single, t.members = 0, false, min(len(rest), 2) // possibly more than one
		t.began = t.logs.unique(t.logs.Now())
	}
	return nil
}

func (l *Logs) putObject(key string, content []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), putTime)
	defer cancel()
	_, err := l.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &l.Bucket, Key: &key, Body: bytes.NewReader(content), ContentType: aws.String("application/gzip")})
	return translate("store log "+key, err)
}

// Close stores the rest: with the task's result if it is short and no reader has seen it yet, otherwise as the object.
func (t *taskLog) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.compress()
	short := t.logs.Short != nil && t.put == 0 && t.content.Len() > 0 && t.content.Len() <= largestShort
	t.mu.Unlock()
	if !short {
		return t.store(false)
	}
	t.putting.Lock() // a put that began earlier has created the object
	defer t.putting.Unlock()
	if t.put == 0 {
		t.logs.Short.KeepShort(t.id.AttemptID, tasklog.Name(t.id.TaskName, t.logs.AgentID, t.began), t.content.Bytes())
	}
	return nil
}
