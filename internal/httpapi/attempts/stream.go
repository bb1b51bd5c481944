package attempts

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"zerodag/internal/host"
	"zerodag/internal/httpapi/access"
	"zerodag/internal/httpapi/endpoint"
)

// heartbeat is how long a stream may be silent: less than proxy timeouts.
const heartbeat = 15 * time.Second

// eventStream is a response with server-sent events about one attempt until the attempt has ended.
type eventStream struct {
	*endpoint.Call
	of      host.Attempt
	out     *bufio.Writer
	control *http.ResponseController
	wait    time.Duration // between two rounds while the attempt is idle
	told    bool          // something was sent
}

func streamOf(c *endpoint.Call, a host.Attempt) *eventStream {
	return &eventStream{Call: c, of: a, wait: c.Limits.Watch}
}

// ended is the position after the last event.
const ended = "end"

// begin writes the head of the response, and returns the position from which the client continues: "" means the
// beginning. At `ended` there are no more events, and the response asks the client not to reconnect.
func (s *eventStream) begin() (position string) {
	if position = cmp.Or(s.R.Header.Get("Last-Event-ID"), s.Text("last_event_id")); position == ended {
		s.W.WriteHeader(http.StatusNoContent)
		return position
	}
	h := s.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.W.WriteHeader(http.StatusOK)
	s.out, s.control = bufio.NewWriter(s.W), http.NewResponseController(s.W)
	_ = s.control.SetReadDeadline(time.Time{}) // nothing more is read, so the deadline must not end the connection
	_ = s.flush()                              // send will get the same error
	return position
}

// flush sends the written data. A client that does not read for a long time is disconnected.
func (s *eventStream) flush() error {
	if err := s.control.SetWriteDeadline(time.Now().Add(2 * heartbeat)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}

// send calls round until the attempt has ended, the client has disconnected or the server stops. Each call of round
// writes new data, flushes it, and reports whether the attempt had ended before the call; last marks the final call.
func (s *eventStream) send(round func(ctx context.Context, last bool) (done bool, err error)) {
	if s.R.Method == http.MethodHead {
		return
	}
	ctx, cancel := context.WithCancel(s.Ctx())
	defer cancel()
	if err := s.rounds(ctx, round); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		s.Logger.Warn("event stream of an attempt was interrupted", "attempt", s.of.ID, "error", err)
	}
}

func (s *eventStream) rounds(ctx context.Context, round func(ctx context.Context, last bool) (bool, error)) error {
	steps := s.Node.Watch(ctx, s.of)
	over := false
	for beat := time.Now(); ; {
		begin := time.Now()
		done, err := round(ctx, over)
		if err != nil || over || s.told && s.Limits.Stream > 0 && !done {
			return err
		}
		if done { // even if another process makes the steps: sends the rest of the logs, and the end
			over = true
			continue
		}
		if time.Since(beat) > heartbeat {
			beat = time.Now()
			fmt.Fprint(s.out, ":\n\n")
		}
		// Many steps in a short time are sent in one round; rounds take at most a fifth of the time.
		if !s.pause(ctx, max(minRound, 4*time.Since(begin))) {
			return nil
		}
		if !s.StillMay(ctx) {
			return nil
		}
		look := time.NewTimer(min(s.wait, access.Recheck))
		select {
		case _, open := <-steps:
			over = !open
		case <-look.C:
		case <-s.Stopping:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		look.Stop()
	}
}

// minRound is the minimum time between two rounds.
const minRound = 20 * time.Millisecond

// pause waits for d, and reports whether the stream continues.
func (s *eventStream) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.Stopping:
	case <-ctx.Done():
	}
	return false
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only possible through a mistake in our own types
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// end announces that there will be no more events.
func (s *eventStream) end() { fmt.Fprintf(s.out, "event: end\nid: %s\ndata: {}\n\n", ended) }

func (s *eventStream) event(name, data string) {
	s.told = true
	fmt.Fprintf(s.out, "event: %s\ndata: %s\n\n", name, data)
}
