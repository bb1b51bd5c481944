package wire

import (
	"encoding/binary"
	"strings"
	"time"

	"zerodag/engine"
)

// TaskColumns holds tasks as one list per property, which takes a tenth of the space of one object per task. Row i of
// every list describes the same task. Tasks are numbered from 1, the root, within the attempt; times are milliseconds
// since 1970, 0 for none.
type TaskColumns struct {
	ID     []engine.TaskID `json:"id"`
	Parent []engine.TaskID `json:"parent"` // 0 for the root
	Name   []string        `json:"name"`   // the part that it adds to its parent's full name
	// Upstreams is the index in Sets of the tasks that a task waits for: tasks after a barrier wait for the same ones.
	Upstreams []int    `json:"upstreams"`
	Group     []bool   `json:"group"`
	Resumed   []bool   `json:"resumed"` // taken over as succeeded from an earlier attempt
	State     []string `json:"state"`
	Started   []int64  `json:"started"` // when it was first sent to a worker
	Changed   []int64  `json:"changed"` // when its state last changed; if it has ended, when it ended
	Retry     []int64  `json:"retry"`   // when a waiting task is due
	Runs      []int    `json:"runs"`    // runs so far: the first one, retries, polls, and runs after a loss
	// Sets holds lists of tasks, the first of which is empty.
	Sets [][]engine.TaskID `json:"sets"`
	Standings

	sets  map[string]int
	Bytes int `json:"-"` // approximate size of names and sets
}

// Standings lists the tasks whose standing does not follow from their state alone.
type Standings struct {
	Skipped []engine.TaskID `json:"skipped,omitempty"` // succeeded tasks that did not run
	Ignored []engine.TaskID `json:"ignored,omitempty"` // succeeded tasks with ignored errors
	Waiting []engine.TaskID `json:"waiting,omitempty"` // tasks that wait for slots; the root: for its turn
}

// Add counts a task.
func (l *Standings) Add(s *engine.State, t *engine.Task) {
	switch {
	case t.Skipped != "":
		l.Skipped = append(l.Skipped, t.ID)
	case t.Ignored && t.State == engine.Success:
		l.Ignored = append(l.Ignored, t.ID)
	case s.WaitingOf(t.ID).Reason.Ready():
		l.Waiting = append(l.Waiting, t.ID)
	}
}

// NewColumns returns columns without rows.
func NewColumns() *TaskColumns {
	return &TaskColumns{ID: []engine.TaskID{}, Parent: []engine.TaskID{}, Name: []string{}, Upstreams: []int{}, Group: []bool{}, Resumed: []bool{},
		State: []string{}, Started: []int64{}, Changed: []int64{}, Retry: []int64{}, Runs: []int{},
		Sets: [][]engine.TaskID{{}}, sets: map[string]int{"": 0}}
}

// Add appends a task.
func (l *TaskColumns) Add(s *engine.State, t *engine.Task) {
	name := t.Name
	if parent := s.Task(t.Parent); parent != nil {
		name = strings.TrimPrefix(name, parent.Name)
	}
	l.ID, l.Parent, l.Name = append(l.ID, t.ID), append(l.Parent, t.Parent), append(l.Name, name)
	l.Upstreams = append(l.Upstreams, l.set(t.Upstreams))
	l.Group, l.Resumed = append(l.Group, t.Group), append(l.Resumed, t.Resumed)
	l.State, l.Runs = append(l.State, t.State.String()), append(l.Runs, t.Runs())
	l.Started, l.Changed, l.Retry = append(l.Started, Millis(t.StartedAt)), append(l.Changed, Millis(t.UpdatedAt)), append(l.Retry, Millis(t.RetryAt))
	l.Standings.Add(s, t)
	l.Bytes += len(name) + RowBytes
}

// RowBytes is the approximate size of a row in addition to its name: numbers, a state, two times.
const RowBytes = 90

// set returns the index of a task list.
func (l *TaskColumns) set(tasks []engine.TaskID) int {
	var key []byte
	for _, t := range tasks {
		key = binary.BigEndian.AppendUint32(key, uint32(t)) // #nosec G115 -- no task can have a larger number
	}
	n, known := l.sets[string(key)]
	if !known {
		n = len(l.Sets)
		l.sets[string(key)] = n
		l.Sets = append(l.Sets, tasks)
		l.Bytes += 8 * len(tasks)
	}
	return n
}

// Full reports whether more rows would make a response too large: functions on AWS respond with at most 6 MB.
func (l *TaskColumns) Full() bool { return l.Bytes > MostColumns }

// MostColumns is the maximum size of a response's columns, in bytes.
const MostColumns = 3 << 20

// Millis returns a time in milliseconds since 1970; 0 for the zero time.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Outline is an attempt as a graphical page needs it: all its tasks, without their parameters.
type Outline struct {
	// Seq is the last entry of the history that the tasks reflect: later changes come after it. It is null if nothing will
	// change anymore.
	Seq    *int64       `json:"seq"`
	At     int64        `json:"at"` // the server's clock
	Tasks  *TaskColumns `json:"tasks"`
	Errors []TaskError  `json:"errors"`
	// Next is the value of after= for the next page; null on the last.
	Next *engine.TaskID `json:"next"`
}

// TaskError is the part of a task's error that fits on a line.
type TaskError struct {
	Task    engine.TaskID `json:"task"`
	Message string        `json:"message"`
}

// Limits on the errors in an outline.
const (
	MostErrors  = 100
	LongestText = 1000 // bytes of a message
)

// Beginning returns the part of a message that is shown in a list.
func Beginning(message string) string {
	return strings.ToValidUTF8(message[:min(len(message), LongestText)], "")
}
