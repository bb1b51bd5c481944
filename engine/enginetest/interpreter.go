package enginetest

import (
	"fmt"
	"time"

	"zerodag/engine"
	"zerodag/engine/param"
)

// interpreter is the state that one scenario's commands work on.
type interpreter struct {
	def      *engine.Definition
	defaults *param.Map
	state    *engine.State
	mirror   *engine.State // built from the stored changes alone
	previous *engine.State // for resume
	earlier  *Earlier
	carried  []engine.Carried
	epoch    time.Time
	now      time.Time
	events   int
	guards   []string
	named    map[string]int // tasks by full name
	trace    Trace
}

func newInterpreter() *interpreter {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &interpreter{epoch: epoch, now: epoch}
}

type handler func(*interpreter, args, Step) (string, error)

// handlers returns the commands, one small function each.
func handlers() map[string]handler {
	return map[string]handler{
		"workflow": (*interpreter).workflow, "start": (*interpreter).start, "resume": (*interpreter).resume,
		"succeed": (*interpreter).succeed, "prepared": (*interpreter).prepared, "granted": (*interpreter).granted, "timeout": (*interpreter).timeout, "fail": (*interpreter).fail, "later": (*interpreter).later,
		"due": (*interpreter).due, "lost": (*interpreter).lost, "fence": (*interpreter).fence, "kill": (*interpreter).kill, "pause": (*interpreter).pause, "unpause": (*interpreter).unpause,
		"goon": (*interpreter).goOn, "sladue": (*interpreter).slaDue, "startdue": (*interpreter).startDue, "advance": (*interpreter).advance,
		"reload": (*interpreter).reload, "outstanding": (*interpreter).outstanding,
		"tasks": (*interpreter).tasks, "count": (*interpreter).count, "params": (*interpreter).params,
		"show": (*interpreter).show, "retry": (*interpreter).retry,
	}
}

func (in *interpreter) command(s Step) (string, error) {
	a := parseArgs(s.Command)
	h, ok := handlers()[a.name]
	if !ok {
		return "", fmt.Errorf("unknown command")
	}
	if in.state == nil && a.name != "workflow" && a.name != "retry" {
		return "", fmt.Errorf("no workflow yet")
	}
	return h(in, a, s)
}

// by returns the guard of an event: m1, m2 ... unless the command names one.
func (in *interpreter) by(a args) engine.By {
	in.events++
	guard := a.keys["guard"]
	if guard == "" {
		guard = fmt.Sprintf("m%d", in.events)
	}
	in.guards = append(in.guards, guard)
	return engine.By{Guard: guard}
}

// run finds the run that a command means: the newest task with that name, or #id, and its current dispatch unless d=
// names another.
func (in *interpreter) run(name string, a args) (engine.Run, error) {
	d, err := a.number("d", -1)
	if err != nil {
		return engine.Run{}, err
	}
	t := in.find(name)
	if t == nil {
		var id int
		if n, _ := fmt.Sscanf(name, "#%d", &id); n == 1 {
			return engine.Run{Task: engine.TaskID(id), Dispatch: d}, nil
		}
		return engine.Run{}, fmt.Errorf("no task %q", name)
	}
	if d < 0 {
		d = t.Dispatch
	}
	return engine.Run{Task: t.ID, Dispatch: d}, nil
}

func (in *interpreter) find(name string) *engine.Task {
	var found *engine.Task
	for _, t := range in.state.Tasks() {
		if t.Name == name || fmt.Sprintf("#%d", t.ID) == name {
			found = t
		}
	}
	return found
}

// step feeds an event and prints the result. The changes are stored, read back and applied to the mirror, whose state
// must then be the same.
func (in *interpreter) step(e engine.Event, guard string) (string, error) {
	changes, why := in.state.Step(e, in.now)
	in.trace.event(e, why)
	if len(in.named) < 100 {
		in.trace.waiting(in.state)
	}
	if why != "" {
		return "refused: " + string(why) + "\n" + in.owed(guard), nil
	}
	text, err := engine.EncodeChanges(changes)
	if err != nil {
		return "", err
	}
	stored, err := engine.DecodeChanges(text)
	if err != nil {
		return "", err
	}
	var list lines
	for _, c := range stored {
		list.add(in.apply(c))
	}
	if len(in.named) < 100 || in.events%32 == 0 || in.state.Ended() { // it is slow if there are many
		if err := SameState(in.state, in.mirror); err != nil {
			return "", err
		}
	}
	if len(changes) == 0 {
		list.add(line{text: "nothing changes"})
	}
	return list.String() + in.owed(guard), nil
}

// SameState returns an error if two states are stored differently.
func SameState(a, b *engine.State) error {
	x, err := engine.EncodeState(a)
	if err != nil {
		return err
	}
	y, err := engine.EncodeState(b)
	if err != nil {
		return err
	}
	if string(x) != string(y) {
		return fmt.Errorf("stored changes lead to another state\nstep:  %s\napply: %s", x, y)
	}
	return nil
}

func (in *interpreter) owed(guard string) string {
	var list lines
	for _, e := range in.state.Outstanding(guard) {
		list.add(in.effect(guard, e))
	}
	return list.String()
}

func (in *interpreter) since(t time.Time) string {
	return fmt.Sprintf("+%v", t.Sub(in.epoch))
}
