package engine

import (
	"errors"
	"fmt"
	"strings"

	"zerodag/engine/param"
)

// kinded is an error with a named kind, such as "config", which users see after the message.
type kinded interface{ ErrorKind() string }

// ErrorObject returns a task's error as the REST API shows it and `_error` tasks see it: the message with its kind in
// parentheses, and a stacktrace. Errors without a kind are "(runtime)".
func ErrorObject(err error) *param.Map {
	kind := "runtime"
	var k kinded
	if errors.As(err, &k) {
		kind = k.ErrorKind()
	}
	return param.New("message", err.Error()+" ("+kind+")", StackKey, Stack(err))
}

// StackKey is the key of an error object that holds the origin of the failure. Failures caused by an exception have it;
// failures that an operator builds from a message alone do not.
const StackKey = "stacktrace"

// SecretKey is the key of an error object that names the missing secret. `_retry` does not retry after such a failure:
// until the secret is set, every retry would fail in the same way.
const SecretKey = "missing_secret"

// Stack returns the types of an error and its causes, outermost first, for zerodag's developers. It contains no
// messages, since a cause's message may contain secrets.
func Stack(err error) string {
	var types []string
	for err != nil {
		types = append(types, fmt.Sprintf("%T", err))
		switch e := err.(type) { //nolint:errorlint // each error of the chain is inspected separately
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			for _, cause := range e.Unwrap() {
				types = append(types, Stack(cause))
			}
			err = nil
		default:
			err = nil
		}
	}
	return strings.Join(types, ", ")
}

// Keys of `error` that handlers see in addition to the keys of the task's own error.
const (
	errorTask  = "task"  // the full name of the task that the message comes from
	errorTasks = "tasks" // all tasks that failed, each with `task`, `message` and, for commands, `exit_code`
	// ExitCodeKey holds the exit code if the task ran a command.
	ExitCodeKey = "exit_code"
)

// Limits on `error.tasks`.
const (
	mostErrorTasks   = 1000
	mostErrorMessage = 2000      // bytes of each message
	mostErrorLines   = 20        // lines of each message
	mostErrorText    = 100 << 10 // bytes of all messages together
)

// failedTask is a task that failed, and its error.
type failedTask struct {
	name  string
	error *param.Map
}

// named adds the failed tasks to the error of a task or group, for handlers. failed is in the order of the tasks. If
// the message comes from a task in a handler, `error.task` names that task.
func named(failure *param.Map, failed, inHandlers []failedTask) *param.Map {
	if len(failed) == 0 {
		return failure
	}
	message, _ := failure.Get("message")
	of := failed[len(failed)-1]
	for _, f := range inHandlers {
		if own, _ := f.error.Get("message"); own == message {
			of = f
		}
	}
	tasks, text := make([]param.Value, 0, min(len(failed), mostErrorTasks)), 0
	for _, f := range failed {
		m := f.described()
		if own, _ := f.error.Get("message"); own == message {
			of = f
		}
		if text += len(f.name) + len(messageOf(m)); text <= mostErrorText && len(tasks) < mostErrorTasks {
			tasks = append(tasks, m)
		}
	}
	out := param.Merge(failure, of.described().Without("message"))
	out.Set(errorTasks, tasks)
	return out
}

// messageOf returns an error's message, "" if it has none.
func messageOf(failure *param.Map) string {
	switch v, _ := failure.Get("message"); text := v.(type) {
	case string:
		return text
	case param.Literal:
		return string(text)
	}
	return ""
}

func (f failedTask) described() *param.Map {
	text := messageOf(f.error)
	m := param.New(errorTask, param.Data(f.name), "message", param.Data(Shortened(text)))
	if code, there := exitCode(f.error); there {
		m.Set(ExitCodeKey, code)
	}
	return m
}

// Shortened returns the beginning of a message, as much as is shown outside the log, and a note on where to find the
// rest.
func Shortened(text string) string {
	end := min(len(text), mostErrorMessage)
	for at, lines := 0, 0; at < end; at++ {
		if text[at] != '\n' {
			continue
		}
		if lines++; lines == mostErrorLines {
			end = at
		}
	}
	if end == len(text) {
		return text
	}
	return strings.ToValidUTF8(text[:end], "") + " ...\n(shortened: the task's log has the whole message)"
}

// FailedTasks describes the tasks that failed, like `error.tasks` in handlers; nil if none did.
func (s *tree) FailedTasks() []param.Value {
	root := s.task(Root)
	var own *param.Map
	if root.Outcome != nil {
		own = root.Error
	}
	list, _ := named(param.New(), s.failedBelow(root, own, false), nil).Get(errorTasks)
	tasks, _ := list.([]param.Value)
	return tasks
}

// CutLogs records that the named tasks' logs could not be stored, and returns the changes. If several tasks share a
// name, it applies to the most recently dispatched one, because only runs write logs.
func (s *State) CutLogs(names []string) (list []Change) {
	for _, name := range names {
		var of *Task
		for _, t := range s.Tasks() {
			if t.Name == name && t.Dispatch > 0 {
				of = t
			}
		}
		if of == nil || of.LogIncomplete {
			continue
		}
		p := of.Progress
		p.LogIncomplete = true
		c := TaskChanged{Task: of.ID, Progress: p}
		s.Apply(c)
		list = append(list, c)
	}
	return list
}

// failedBelow lists the failed tasks below a task, and the task itself if own is its error: only tasks in handlers, or
// only all others. Earlier iterations and ignored failures do not count.
func (s *tree) failedBelow(t *Task, own *param.Map, inHandlers bool) (list []failedTask) {
	var add func(t *Task, handles bool)
	add = func(t *Task, handles bool) {
		newest := s.Newest(t)
		for _, id := range t.children {
			c := s.task(id)
			if newest[c.Name] != id || c.Ignored {
				continue
			}
			handles := handles || c.Name == t.Name+"^error"
			if handles == inHandlers && c.FailedItself() && c.Outcome != nil && !s.apart(c) {
				list = append(list, failedTask{c.Name, c.Error})
			}
			if inHandlers || !handles {
				add(c, handles)
			}
		}
	}
	add(t, false)
	if inHandlers {
		return list
	}
	if own.Len() > 0 {
		list = append(list, failedTask{t.Name, own})
	}
	return list
}
