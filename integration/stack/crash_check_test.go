package stack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/proxy"
	"zerodag/integration/stack"
)

// drain stops the schedule, once it has continued after its first session despite the kills, and waits until every
// attempt has ended and the queues are empty.
func (l *load) drain(patience time.Duration) {
	l.t.Helper()
	deadline := time.Now().Add(patience)
	ctx := l.t.Context()
	var list struct{ Schedules []struct{ ID string } }
	if err := l.Get(ctx, "/api/projects/"+l.project.ID+"/schedules", &list); err != nil || len(list.Schedules) != 1 {
		l.t.Fatalf("schedules: %v, %v", list, err)
	}
	if err := l.Tick(ctx); err != nil {
		l.t.Error(err)
	}
	until(l.t, patience, "the schedule for every five seconds has started two attempts", func() bool {
		list, err := l.Attempts(ctx, l.name, "every")
		if err != nil {
			l.t.Fatal(err)
		}
		return len(list) >= 2
	})
	if err := l.Post(ctx, "/api/schedules/"+list.Schedules[0].ID+"/disable", struct{}{}, nil); err != nil {
		l.t.Fatal(err)
	}
	events, tasks, err := l.Queues(ctx, localstack.Config(l.t))
	if err != nil {
		l.t.Fatal(err)
	}
	for ; ; time.Sleep(500 * time.Millisecond) {
		var open []string
		for _, w := range []string{"main", "every"} {
			list, err := l.Attempts(ctx, l.name, w)
			if err != nil {
				l.t.Fatal(err)
			}
			for _, a := range list {
				if !a.Done {
					open = append(open, a.ID)
				}
			}
		}
		waiting := 0
		for _, q := range []*stack.Queue{events, tasks} {
			n, err := q.Depth(ctx)
			if err != nil {
				l.t.Fatal(err)
			}
			waiting += n
		}
		if len(open) == 0 && waiting == 0 {
			break
		}
		if time.Now().After(deadline) {
			l.explain(open)
			l.t.Fatalf("after %v %d attempts have not ended (%s), and %d messages are in the queues", patience, len(open), strings.Join(open, " "), waiting)
		}
	}
	for _, q := range []*stack.Queue{events, tasks} {
		if n, err := q.DeadLetters(ctx); err != nil || n != 0 {
			l.t.Errorf("dead letters of %s: %d, %v", q.Name, n, err)
		}
	}
}

// explain prints what is known about unfinished attempts: their tasks and entries, and the functions' messages and
// complaints about them.
func (l *load) explain(open []string) {
	l.t.Helper()
	ctx := l.t.Context()
	for _, id := range open {
		var tree struct {
			Tasks []struct{ FullName, State, UpdatedAt string }
		}
		var history json.RawMessage
		err := errors.Join(l.Get(ctx, "/api/attempts/"+id+"/tasks", &tree), l.Get(ctx, "/api/attempts/"+id+"/history", &history))
		l.t.Logf("attempt %s: tasks %v, of which began %v, history %s, %v", id, tree.Tasks, l.works.begunOf(id), history, err)
	}
	said(l.t, l.Stack, l.since, open)
}

// said prints the functions' messages about attempts since a time, and their complaints.
func said(t *testing.T, s *stack.Stack, since time.Time, attempts []string) {
	t.Helper()
	isOf := func(line string) bool {
		return slices.ContainsFunc(attempts, func(id string) bool { return strings.Contains(line, id) })
	}
	for _, f := range []string{"executor", "agent", "tick"} {
		lines, err := s.Log(t.Context(), f, since)
		if err != nil {
			t.Error(err)
		}
		for _, line := range lines {
			if isOf(line) || isComplaint(line) {
				t.Logf("%s: %s", f, strings.TrimSpace(line))
			}
		}
	}
}

// isComplaint reports whether a line of a log reports a problem. The SDK's message that it has not read the response to
// a refused request to its end does not count.
func isComplaint(line string) bool {
	if strings.HasPrefix(line, "{") {
		return strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`)
	}
	return !isPlatform(line) && !strings.Contains(line, "failed to close HTTP response body")
}

// isPlatform reports whether a line of a log was written by Lambda about a successful call.
func isPlatform(line string) bool {
	for _, word := range []string{"START ", "END ", "REPORT "} {
		if strings.HasPrefix(line, word) {
			return true
		}
	}
	return false
}

// history holds data from the log of an attempt.
type history struct {
	ended     map[int64]int // results of each task
	lost      map[int64]int
	blameless map[int64]int // losses that are blamed on no task
	names     map[int64]string
	fail      map[int64]string
}

// key returns the key of a task in works, or false for a task that makes no call or retries calls itself.
func (h history) key(attempt string, task int64) (string, bool) {
	name := h.names[task]
	last := name[strings.LastIndex(name, "+")+1:]
	if i := strings.Index(name, "+for-0=i="); i >= 0 && last == "it" {
		return attempt + "/each" + name[i+len("+for-0=i="):][:1], true
	}
	return attempt + "/" + last, last != "flaky" && slices.ContainsFunc(stages(), func(side []string) bool { return slices.Contains(side, last) })
}

// check checks whether something was lost or duplicated. sent holds how many times each task was sent to the agents;
// nil means that none was sent twice.
func (l *load) check(sent map[proxy.Order]int) {
	l.t.Helper()
	list, err := l.Attempts(l.t.Context(), l.name, "main")
	if err != nil {
		l.t.Fatal(err)
	}
	byID := map[string]stack.Attempt{}
	for _, a := range list {
		byID[a.ID] = a
	}
	for _, id := range l.started {
		a, there := byID[id]
		h := l.history(id)
		switch {
		case !there:
			l.t.Errorf("attempt %s was acknowledged and is lost", id)
		case l.killed[id] && !a.CancelRequested && !a.Success:
			l.t.Errorf("the kill of attempt %s was acknowledged and is lost", id)
		case !a.Success && !a.CancelRequested && !h.lostThrice():
			l.t.Errorf("attempt %s failed: %v", id, h.fail)
		}
		l.checkRuns(id, h, sent)
		l.checkOrder(id, a.Success)
	}
	if len(byID) != len(l.started) {
		l.t.Errorf("started %d attempts, found %d", len(l.started), len(byID))
	}
	l.checkSchedule()
}

// lostThrice reports whether each failed task was lost three times, after which it must fail.
func (h history) lostThrice() bool {
	failed := 0
	for task, message := range h.fail {
		if !strings.Contains(message, "lost three times") || h.lost[task] < 3 {
			return false
		}
		failed++
	}
	return failed > 0
}

func (l *load) history(id string) history {
	h := history{map[int64]int{}, map[int64]int{}, map[int64]int{}, map[int64]string{}, map[int64]string{}}
	ctx := l.t.Context()
	var tree struct {
		Tasks []struct {
			ID              int64 `json:",string"`
			FullName, State string
			Error           map[string]any
		}
	}
	if err := l.Get(ctx, "/api/attempts/"+id+"/tasks", &tree); err != nil {
		l.t.Error(err)
	}
	for _, x := range tree.Tasks {
		h.names[x.ID] = x.FullName
		if x.State == "error" {
			h.fail[x.ID] = fmt.Sprint(x.FullName, " ", x.Error)
		}
	}
	eachEvent(l.t, l.Stack, id, func(_ int64, text json.RawMessage) {
		var e struct {
			Event     string
			Blameless bool
			Run       *struct{ Task int64 }
		}
		if err := json.Unmarshal(text, &e); err != nil {
			l.t.Error(err)
		}
		switch {
		case e.Run == nil:
		case e.Event == "lost":
			h.lost[e.Run.Task]++
			if e.Blameless {
				h.blameless[e.Run.Task]++
			}
		case e.Event == "succeeded", e.Event == "failed":
			h.ended[e.Run.Task]++
		}
	})
	return h
}

// eachEvent reads the log of an attempt, whose entries must have no gaps, and passes on its events with the numbers of
// their entries.
func eachEvent(t *testing.T, s *stack.Stack, attempt string, do func(seq int64, event json.RawMessage)) {
	t.Helper()
	for first := int64(1); ; {
		var page struct {
			History []struct {
				Seq    int64
				Events []json.RawMessage
			}
		}
		if err := s.Get(t.Context(), path("/api/attempts/%s/history?first=%d&count=100", attempt, first), &page); err != nil {
			t.Error(err)
			return
		}
		if len(page.History) == 0 {
			return
		}
		for _, entry := range page.History {
			if entry.Seq != first {
				t.Errorf("attempt %s: entry %d follows on %d", attempt, entry.Seq, first-1)
			}
			first = entry.Seq + 1
			for _, e := range entry.Events {
				do(entry.Seq, e)
			}
		}
	}
}

// checkRuns checks whether a result counted twice, and whether a task ran more often than the losses of its process and
// repeated messages explain.
func (l *load) checkRuns(id string, h history, sent map[proxy.Order]int) {
	l.works.mu.Lock()
	defer l.works.mu.Unlock()
	var attempt int64
	fmt.Sscan(id, &attempt)
	for task, name := range h.names {
		// A task with a retry ends once for each.
		flaky := strings.HasSuffix(name, "+flaky")
		if h.ended[task] > 1 && !flaky {
			l.t.Errorf("attempt %s: task %s ended %d times", id, name, h.ended[task])
		}
		key, _ := h.key(id, task)
		allowed := max(1, sent[proxy.Order{Attempt: attempt, Task: task}]) + h.lost[task]
		if ran := len(l.works.begun[key]); ran > allowed && !flaky {
			l.t.Errorf("attempt %s: task %s ran %d times; it was sent %d times and lost %d times", id, name, ran, allowed-h.lost[task], h.lost[task])
		}
	}
}

// checkOrder checks whether a task ran before all tasks that it waits for had ended.
func (l *load) checkOrder(id string, success bool) {
	l.works.mu.Lock()
	defer l.works.mu.Unlock()
	var over time.Time
	for _, side := range stages() {
		latest := over
		for _, name := range side {
			key := id + "/" + name
			begun, ended := l.works.begun[key], l.works.ended[key]
			if len(begun) > 0 && begun[0].Before(over) {
				l.t.Errorf("attempt %s: task %s began %v before what it waits for was over", id, name, over.Sub(begun[0]))
			}
			if len(ended) == 0 {
				if success {
					l.t.Errorf("attempt %s succeeded without a result of task %s", id, name)
				}
				latest = time.Now()
			} else if ended[0].After(latest) {
				latest = ended[0]
			}
		}
		over = latest
	}
}

// checkSchedule checks whether each session time has exactly one attempt.
func (l *load) checkSchedule() {
	list, err := l.Attempts(l.t.Context(), l.name, "every")
	if err != nil {
		l.t.Fatal(err)
	}
	var times []time.Time
	for _, a := range list {
		at, err := time.Parse(time.RFC3339, a.SessionTime)
		if err != nil {
			l.t.Fatal(err)
		}
		if a.Index != 1 {
			l.t.Errorf("session %v was started twice", at)
		}
		times = append(times, at)
	}
	slices.SortFunc(times, time.Time.Compare)
	for i := 1; i < len(times); i++ {
		switch step := times[i].Sub(times[i-1]); {
		case step == 0:
			l.t.Errorf("session %v has two attempts", times[i])
		case step != 5*time.Second:
			l.t.Errorf("sessions between %v and %v were missed", times[i-1], times[i])
		}
	}
}
