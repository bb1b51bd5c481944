package cost_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"zerodag/internal/cost"
	"zerodag/internal/prices"
	"zerodag/internal/sandbox"
)

var begin = time.Date(2026, 10, 3, 2, 0, 0, 0, time.UTC)

// shared is the class of a machine that commands share, and own is the class of one that a command has to itself.
var (
	shared = sandbox.Class{Image: "i", CPU: 1024, Memory: 2048}
	own    = sandbox.Class{Image: "i", CPU: 4096, Memory: 8192, Own: true}
)

// command returns a command that runs between two times, given in seconds from the start.
func command(class sandbox.Class, from, to int) cost.Task {
	return cost.Task{Kind: cost.Command, From: begin.Add(time.Duration(from) * time.Second), To: begin.Add(time.Duration(to) * time.Second), Machine: class}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12+math.Abs(want)*1e-9 {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestMachines checks how long machines are billed: commands of a class share a machine, for which only the time with
// commands and a minute after them counts; a command that requests a size has a machine to itself; and there are at
// most ten machines.
func TestMachines(t *testing.T) {
	t.Parallel()
	many := func(n int, class sandbox.Class, to int) (list []cost.Task) {
		for range n {
			list = append(list, command(class, 0, to))
		}
		return list
	}
	late := begin.Add(time.Hour)
	for name, x := range map[string]struct {
		tasks    []cost.Task
		finished time.Time
		minutes  float64 // machine minutes with one vCPU, or vCPU minutes
	}{
		"one command, attempt goes on":       {[]cost.Task{command(shared, 0, 120)}, late, 3},
		"one command, attempt under way":     {[]cost.Task{command(shared, 0, 120)}, time.Time{}, 3},
		"the attempt ends with it":           {[]cost.Task{command(shared, 0, 120)}, begin.Add(130 * time.Second), 130.0 / 60},
		"a minute is billed at least":        {[]cost.Task{command(shared, 0, 2)}, begin.Add(2 * time.Second), 1},
		"one after the other":                {[]cost.Task{command(shared, 0, 60), command(shared, 90, 150)}, late, 3.5},
		"the machine had left":               {[]cost.Task{command(shared, 0, 60), command(shared, 180, 240)}, late, 4},
		"side by side":                       {many(20, shared, 600), late, 11},
		"more than one machine takes":        {many(21, shared, 600), late, 22},
		"no more than ten machines":          {many(300, shared, 600), late, 110},
		"of a size":                          {[]cost.Task{command(own, 0, 60), command(own, 0, 60)}, late, 16},
		"of a size, one after the other":     {[]cost.Task{command(own, 0, 60), command(own, 60, 120)}, late, 12},
		"another size":                       {[]cost.Task{command(own, 0, 60), command(shared, 0, 60)}, late, 10},
		"the order of tasks says nothing":    {[]cost.Task{command(shared, 90, 150), command(shared, 0, 60)}, late, 3.5},
		"an end that the attempt's precedes": {[]cost.Task{command(shared, 0, 120)}, begin.Add(time.Minute), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := cost.Stage{}.Of(cost.Attempt{Finished: x.finished, Tasks: slices.Clone(x.tasks)})
			near(t, "vCPU minutes", got.CPUHours*60, x.minutes)
			near(t, "GB minutes", got.GBHours*60, 2*x.minutes)
			near(t, "dollars", got.Machines, x.minutes/60*(prices.FargateCPUHour+2*prices.FargateGBHour))
		})
	}
}

// TestAttempts checks what each kind of task adds to an attempt, and that prices depend on the stage's architecture and
// network.
func TestAttempts(t *testing.T) {
	t.Parallel()
	of := func(s cost.Stage, tasks ...cost.Task) cost.Amount {
		return s.Of(cost.Attempt{Finished: begin.Add(time.Hour), Tasks: tasks})
	}
	near(t, "an attempt alone", of(cost.Stage{}).Total(), prices.EngineAttempt)
	group := of(cost.Stage{}, cost.Task{})
	if group.Tasks != 0 || group.Total() != prices.EngineAttempt {
		t.Errorf("a group counts: %+v", group)
	}
	inline := of(cost.Stage{}, cost.Task{Kind: cost.Inline}, cost.Task{Kind: cost.Inline})
	near(t, "inline tasks", inline.Engine, prices.EngineAttempt+2*prices.EngineInline)
	agents := of(cost.Stage{}, cost.Task{Kind: cost.Agent}, cost.Task{Kind: cost.Agent}, cost.Task{Kind: cost.Agent})
	near(t, "tasks of agents", agents.Engine, prices.EngineAttempt+prices.EngineFirst+2*prices.EngineTask)
	if agents.Tasks != 3 || agents.Commands != 0 || agents.Machines != 0 {
		t.Errorf("%+v", agents)
	}
	arm := of(cost.Stage{ARMMachines: true, PublicAddress: true}, command(shared, 0, 3540))
	near(t, "an hour on arm64 with an address", arm.Machines, prices.FargateARMCPUHour+2*prices.FargateARMGBHour+prices.AddressHour)
	near(t, "the engine of a command", arm.Engine, prices.EngineAttempt+prices.EngineFirst+prices.EngineCommand)
	function := cost.Task{Kind: cost.Function, From: begin, To: begin.Add(10 * time.Second)}
	near(t, "a function on x86_64", of(cost.Stage{FunctionMemory: 2048}, function).Machines, prices.LambdaRequest+20*prices.LambdaX86Second)
	near(t, "a function on arm64", of(cost.Stage{FunctionMemory: 2048, ARMFunctions: true}, function).Machines, prices.LambdaRequest+20*prices.LambdaGBSecond)
}

// TestRows proves that a sample stands for all attempts, and that a workflow whose tasks could not be read is still
// charged for its attempts.
func TestRows(t *testing.T) {
	t.Parallel()
	r := cost.RowOf("1", "p", "w", 10, []cost.Amount{{Tasks: 1, Engine: 2}, {Tasks: 3, Engine: 2, Machines: 4, CPUHours: 1}})
	if r.Read != 2 || r.Tasks != 20 || r.Engine != 20 || r.Machines != 20 || r.Dollars != 40 || r.CPUHours != 5 {
		t.Errorf("%+v", r)
	}
	if none := cost.RowOf("1", "p", "w", 3, nil); none.Read != 0 || math.Abs(none.Dollars-3*prices.EngineAttempt) > 1e-12 {
		t.Errorf("%+v", none)
	}
	list := make([]int, 100)
	for i := range list {
		list[i] = i
	}
	if got := cost.Sample(list, 4); !slices.Equal(got, []int{12, 37, 62, 87}) {
		t.Errorf("a sample of four: %v", got)
	}
	for _, n := range []int{0, 100, 101} {
		if got := cost.Sample(list, n); len(got) != 100 {
			t.Errorf("a sample of %d has %d", n, len(got))
		}
	}
	if got := cost.Sample([]int{}, 4); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestMonth proves that months begin and end in UTC, wherever the user is.
func TestMonth(t *testing.T) {
	t.Parallel()
	tokyo, west := time.FixedZone("", 9*3600), time.FixedZone("", -8*3600)
	day := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	middle := time.Date(2026, 11, 28, 7, 30, 0, 0, time.UTC)
	for _, x := range []struct {
		text     string
		now      time.Time
		name     string
		from, to time.Time
		until    time.Time
		partial  bool
	}{
		{"", middle, "2026-10", day(2026, 10, 1), day(2026, 11, 1), day(2026, 11, 1), false},
		{"now", middle, "2026-11", day(2026, 11, 1), middle, day(2026, 11, 29), true},
		{"2026-11", middle, "2026-11", day(2026, 11, 1), middle, day(2026, 11, 29), true},
		{"2026-02", middle, "2026-02", day(2026, 2, 1), day(2026, 3, 1), day(2026, 3, 1), false},
		{"", time.Date(2026, 1, 1, 8, 59, 0, 0, tokyo), "2025-11", day(2025, 11, 1), day(2025, 12, 1), day(2025, 12, 1), false},
		{"", time.Date(2026, 1, 1, 9, 0, 0, 0, tokyo), "2025-12", day(2025, 12, 1), day(2026, 1, 1), day(2026, 1, 1), false},
		{"", time.Date(2026, 1, 31, 16, 0, 0, 0, west), "2026-01", day(2026, 1, 1), day(2026, 2, 1), day(2026, 2, 1), false},
		{"now", day(2026, 11, 1), "2026-11", day(2026, 11, 1), day(2026, 11, 1), day(2026, 11, 2), true},
		{"now", time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC), "2026-12", day(2026, 12, 1), time.Date(2026, 12, 31, 23, 59, 0, 0, time.UTC), day(2027, 1, 1), true},
	} {
		m, err := cost.ReadMonth(x.text, x.now)
		if err != nil || m.Name != x.name || !m.From.Equal(x.from) || !m.To.Equal(x.to) || !m.Until().Equal(x.until) || m.Partial != x.partial {
			t.Errorf("%q at %v: %+v until %v, %v", x.text, x.now, m, m.Until(), err)
		}
	}
	for _, text := range []string{"2026-12", "2026-13", "2026", "october", "2026-1", "2026-10-01"} {
		if m, err := cost.ReadMonth(text, middle); err == nil {
			t.Errorf("%q was taken for %+v", text, m)
		}
	}
	m, err := cost.ReadMonth("now", time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "half a month", m.Share(), 0.5)
}
