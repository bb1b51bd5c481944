package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"zerodag/engine/claim"
	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// EncodeChanges writes changes as JSON, for the attempt's log. Every change names its kind, so that a reader that does
// not know it can refuse the entry.
func EncodeChanges(changes []Change) ([]byte, error) {
	list := make([]taggedChange, len(changes))
	for i, c := range changes {
		body, err := json.Marshal(c)
		if err != nil {
			return nil, fmt.Errorf("encode change: %w", err)
		}
		list[i] = taggedChange{Kind: kindOf(c), Body: body}
	}
	return json.Marshal(list)
}

type taggedChange struct {
	Kind string          `json:"k"`
	Body json.RawMessage `json:"v"`
}

func kindOf(c Change) string {
	switch c.(type) {
	case AttemptStarted:
		return "start"
	case Admitted:
		return "admit"
	case TasksAdded:
		return "add"
	case TaskChanged:
		return "task"
	case Skipped:
		return "skip"
	case SubtreeCanceled:
		return "cancel"
	case GroupRestarted:
		return "again"
	case Growing:
		return "grow"
	case KillRequested:
		return "kill"
	case PauseChanged:
		return "pause"
	case Begun:
		return "begin"
	case SLAFired:
		return "sla"
	case AttemptEnded:
		return "end"
	}
	panic(fmt.Sprintf("engine: unknown change %T", c))
}

// DecodeChanges reads what EncodeChanges wrote. An unknown kind is an error: a newer
// version wrote it, and skipping it would lose work.
func DecodeChanges(text []byte) ([]Change, error) {
	var list []taggedChange
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("decode changes: %w", err)
	}
	changes := make([]Change, len(list))
	for i, t := range list {
		c, err := decodeChange(t)
		if err == nil {
			err = checkChange(c)
		}
		if err != nil {
			return nil, fmt.Errorf("decode change %d: %w", i, err)
		}
		changes[i] = c
	}
	return changes, nil
}

func decodeChange(t taggedChange) (Change, error) {
	switch t.Kind {
	case "start":
		return decodeAs[AttemptStarted](t.Body)
	case "admit":
		return decodeAs[Admitted](t.Body)
	case "add":
		return decodeAs[TasksAdded](t.Body)
	case "task":
		return decodeAs[TaskChanged](t.Body)
	case "skip":
		return decodeAs[Skipped](t.Body)
	case "cancel":
		return decodeAs[SubtreeCanceled](t.Body)
	case "again":
		return decodeAs[GroupRestarted](t.Body)
	case "grow":
		return decodeAs[Growing](t.Body)
	case "kill":
		return decodeAs[KillRequested](t.Body)
	case "pause":
		return decodeAs[PauseChanged](t.Body)
	case "begin":
		return decodeAs[Begun](t.Body)
	case "sla":
		return SLAFired{}, nil
	case "end":
		return decodeAs[AttemptEnded](t.Body)
	}
	return nil, fmt.Errorf("unknown kind %q: written by a newer version", t.Kind)
}

func decodeAs[T Change](body []byte) (Change, error) {
	var c T
	err := json.Unmarshal(body, &c)
	return c, err
}

// snapshot is the stored form of a State. Tasks omit everything that the definition contains.
type snapshot struct {
	Params   *param.Map     `json:"params"`
	Limit    int            `json:"limit"`
	Carried  []Carried      `json:"carried,omitempty"`
	Canceled bool           `json:"canceled,omitempty"`
	Ended    bool           `json:"ended,omitempty"`
	EndGuard string         `json:"endGuard,omitempty"`
	SLAAt    time.Time      `json:"slaAt,omitzero"`
	SLAGuard string         `json:"slaGuard,omitempty"`
	StartsAt time.Time      `json:"startsAt,omitzero"`
	StartsBy string         `json:"startsGuard,omitempty"`
	StartAt  time.Time      `json:"startAt"`
	EndAt    time.Time      `json:"endAt,omitzero"`
	Priority int            `json:"priority,omitempty"`
	Forced   bool           `json:"forced,omitempty"`
	Paused   *Paused        `json:"paused,omitempty"`
	Slot     *claim.Use     `json:"slot,omitempty"`
	SlotBy   string         `json:"slotGuard,omitempty"`
	Size     int            `json:"size"` // ids assigned
	Tasks    []snapshotTask `json:"tasks"`
	Growing  []growth       `json:"growing,omitempty"`
}

type snapshotTask struct {
	ID        TaskID    `json:"id"`
	Node      *dig.Node `json:"node,omitempty"` // Parent and Upstreams unused
	Parent    TaskID    `json:"parent,omitempty"`
	Upstreams []TaskID  `json:"up,omitempty"`
	Initial   bool      `json:"initial,omitempty"`
	Resumed   bool      `json:"resumed,omitempty"`
	Left
	Progress Progress `json:"to"`
	Outcome  *Outcome `json:"out,omitempty"`
}

// EncodeState writes a started attempt as a snapshot.
func EncodeState(s *State) ([]byte, error) {
	snap := snapshot{Params: s.params, Limit: s.limit, Canceled: s.canceled, Ended: s.ended, EndGuard: s.endGuard,
		SLAAt: s.slaAt, SLAGuard: s.slaGuard, StartsAt: s.startsAt, StartsBy: s.startsGuard, StartAt: s.startAt, EndAt: s.endAt, Priority: s.priority, Forced: s.forced, Paused: s.paused, Slot: s.slot, SlotBy: s.slotGuard, Size: len(s.tasks), Growing: s.growing}
	for _, name := range slices.Sorted(maps.Keys(s.carried)) {
		snap.Carried = append(snap.Carried, s.carried[name])
	}
	for _, t := range s.Tasks() {
		x := snapshotTask{ID: t.ID, Resumed: t.Resumed, Left: t.Left, Progress: t.Progress, Outcome: t.Outcome}
		if int(t.ID) > len(s.def.Nodes) || t.Resumed {
			x.Node = &dig.Node{Name: t.Name, Group: t.Group, Config: t.Config, Export: t.Export, Level: t.Level}
			x.Parent, x.Upstreams, x.Initial = t.Parent, t.Upstreams, t.Initial
		}
		snap.Tasks = append(snap.Tasks, x)
	}
	return json.Marshal(snap)
}

// DecodeState reads the snapshot of an attempt that runs def; defaults are as for New.
func DecodeState(def *Definition, defaults *param.Map, text []byte) (*State, error) {
	var snap snapshot
	if err := json.Unmarshal(text, &snap); err != nil {
		return nil, fmt.Errorf("decode attempt: %w", err)
	}
	if snap.Size < len(snap.Tasks) || snap.Size > maxSize {
		return nil, fmt.Errorf("decode attempt: %d tasks of %d ids", len(snap.Tasks), snap.Size)
	}
	s := New(def, defaults)
	s.started, s.params, s.limit = true, snap.Params, snap.Limit
	s.canceled, s.ended, s.endGuard = snap.Canceled, snap.Ended, snap.EndGuard
	s.slaAt, s.slaGuard, s.startAt, s.endAt = snap.SLAAt, snap.SLAGuard, snap.StartAt, snap.EndAt
	s.priority, s.forced, s.slot, s.slotGuard = snap.Priority, snap.Forced, snap.Slot, snap.SlotBy
	s.paused, s.startsAt, s.startsGuard = snap.Paused, snap.StartsAt, snap.StartsBy
	if err := s.slot.Check(); err != nil {
		return nil, fmt.Errorf("decode attempt: %w", err)
	}
	for _, c := range snap.Carried {
		if s.carried == nil {
			s.carried = map[string]Carried{}
		}
		s.carried[c.Name] = c
	}
	s.tasks = make([]*Task, snap.Size)
	for _, x := range snap.Tasks {
		t, err := x.task(s)
		if err != nil {
			return nil, fmt.Errorf("decode attempt: %w", err)
		}
		s.insert(t)
		s.owe(t)
	}
	if s.Task(Root) == nil {
		return nil, fmt.Errorf("decode attempt: no root task")
	}
	for _, t := range s.Tasks() {
		s.recountFailed(t)
	}
	return s, s.decodeGrowing(snap.Growing)
}

func (s *State) decodeGrowing(list []growth) error {
	for _, g := range list {
		if err := g.check(); err != nil || s.Task(g.First) == nil || s.Task(g.Owner) == nil || g.Next == g.Total {
			return fmt.Errorf("decode attempt: task %d cannot have generated subtasks", g.First)
		}
		s.grow(g)
	}
	return nil
}

func (x snapshotTask) task(s *State) (*Task, error) {
	t := &Task{ID: x.ID, Initial: x.Initial, Resumed: x.Resumed, Left: x.Left, Progress: x.Progress, Outcome: x.Outcome, Parent: x.Parent, Upstreams: x.Upstreams}
	n := x.Node
	if n == nil {
		if int(x.ID) < 1 || int(x.ID) > len(s.def.Nodes) {
			return nil, fmt.Errorf("task %d does not belong to the workflow", x.ID)
		}
		n = &s.def.Nodes[x.ID-1]
		t.Initial = true
		t.Upstreams = shifted(n.Upstreams, Root)
		t.Parent = TaskID(n.Parent + 1)
	}
	t.Name, t.Group, t.Config, t.Export, t.Level = n.Name, n.Group, n.Config, n.Export, n.Level
	if int(t.ID) < 1 || int(t.ID) > len(s.tasks) || s.tasks[t.ID-1] != nil {
		return nil, fmt.Errorf("invalid task id %d", t.ID)
	}
	if (t.ID == Root) != (t.Parent == 0) || t.ID != Root && s.Task(t.Parent) == nil {
		return nil, fmt.Errorf("task %d has no parent", t.ID)
	}
	if err := t.Progress.check(); err != nil {
		return nil, fmt.Errorf("task %d: %w", t.ID, err)
	}
	for _, u := range t.Upstreams {
		if s.Task(u) == nil {
			return nil, fmt.Errorf("task %d has no upstream %d", t.ID, u)
		}
	}
	return t, nil
}
