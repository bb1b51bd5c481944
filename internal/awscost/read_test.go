package awscost

import (
	"math"
	"testing"
	"time"

	"zerodag/engine/param"
	stages "zerodag/infra/settings"
	"zerodag/internal/client"
	"zerodag/internal/cost"
	"zerodag/internal/prices"
)

// TestKinds checks which resources a task uses: groups use none, operators without I/O use the engine, other operators
// use the agent, and commands use a function or a machine if the stage has one, according to the settings of the task
// and of the groups around it.
func TestKinds(t *testing.T) {
	t.Parallel()
	settings := func(change func(*stages.Settings)) stages.Settings {
		s := stages.Default("main")
		change(&s)
		return s
	}
	with := func(key string, v any) *param.Map { return param.New(key, v) }
	root := client.ID("1")
	for _, c := range []struct {
		name string
		s    stages.Settings
		task client.Task
		root *param.Map // exports of the group around it
		want cost.Kind
	}{
		{"a group", settings(func(*stages.Settings) {}), client.Task{IsGroup: true}, nil, cost.None},
		{"an expression", settings(func(*stages.Settings) {}), client.Task{Config: with("echo>", "x")}, nil, cost.Inline},
		{"an operator of the project", settings(func(*stages.Settings) {}), client.Task{Config: with("mine>", "x"), IsGroup: true}, nil, cost.Inline},
		{"a request", settings(func(*stages.Settings) {}), client.Task{Config: with("http>", "x")}, nil, cost.Agent},
		{"by its type", settings(func(*stages.Settings) {}), client.Task{Config: with("_type", "http")}, nil, cost.Agent},
		{"of a type that is none", settings(func(*stages.Settings) {}), client.Task{Config: with("_type", int64(1))}, nil, cost.None},
		{"a command", settings(func(s *stages.Settings) { s.VPC = "default" }), client.Task{Config: with("sh>", "x")}, nil, cost.Command},
		{"a plugin", settings(func(s *stages.Settings) { s.VPC = "default" }), client.Task{Config: with("mine>", "x")}, nil, cost.Command},
		{"a command for which no machine is large enough", settings(func(s *stages.Settings) { s.VPC = "default" }), client.Task{Config: param.New("sh>", "x", "sandbox", with("cpu", int64(1000)))}, nil, cost.Agent},
		{"what cannot be read", settings(func(s *stages.Settings) { s.VPC = "default" }), client.Task{Config: param.New("sh>", "x", "sandbox", with("cpu", "${n}"))}, nil, cost.Command},
	} {
		c.task.ID, c.task.ParentID = "2", &root
		byID := map[client.ID]*client.Task{"1": {ID: "1", ExportParams: c.root}, "2": &c.task}
		if got, _ := newReading(c.s).kind(c.task, byID); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestSandboxOfGroups proves that a task uses the exports of the nearest group around it, unless it has its own
// settings.
func TestSandboxOfGroups(t *testing.T) {
	t.Parallel()
	one, two, three := client.ID("1"), client.ID("2"), client.ID("3")
	asks := func(cpu int64) *param.Map { return param.New("sandbox", param.New("cpu", cpu)) }
	byID := map[client.ID]*client.Task{one: {ID: one, ExportParams: asks(1)}, two: {ID: two, ParentID: &one, ExportParams: asks(2)}, three: {ID: three, ParentID: &two}}
	r := newReading(stages.Default("main"))
	of := func(config *param.Map) string {
		own := *byID[three]
		own.Config = config
		return param.Text(param.New("cpu", r.sandbox(own, byID).CPU))
	}
	outer, inner, own := of(nil), of(param.New("sh>", "x")), of(asks(4))
	byID[two].ExportParams = nil
	if far := of(nil); far == outer || outer != inner || own == outer {
		t.Errorf("of the nearest group %s and %s, of the task %s, of the group around %s", outer, inner, own, far)
	}
}

// TestAttempt proves that an attempt's task costs something for the time that it ran there, and that tasks that were
// taken over, were skipped or have not begun cost nothing.
func TestAttempt(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) *time.Time { x := began.Add(time.Duration(seconds) * time.Second); return &x }
	config := param.New("http>", "x")
	a := newReading(stages.Default("main")).attempt(client.Attempt{CreatedAt: began, FinishedAt: at(60)}, []client.Task{
		{ID: "1", Config: config, StartedAt: at(1), UpdatedAt: *at(5)}, {ID: "2", Config: config, StartedAt: at(-9), UpdatedAt: *at(-5)}, {ID: "3", Config: config, UpdatedAt: *at(5)},
		{ID: "4", Config: config, StartedAt: at(1), UpdatedAt: *at(5), Skipped: "_if"}, {ID: "5", Config: config, StartedAt: at(9), UpdatedAt: *at(8)},
	})
	if len(a.Tasks) != 2 || a.Tasks[0].To.Sub(a.Tasks[0].From) != 4*time.Second || !a.Tasks[1].To.Equal(a.Tasks[1].From) || !a.Finished.Equal(*at(60)) {
		t.Errorf("%+v", a)
	}
}

// TestSum proves that the total is correct: CloudWatch's counts are not added to the attributed parts, no value is
// negative, and unknown values do not count as zero.
func TestSum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		counted     CountedPart
		rest, total float64 // rest -1: unknown
	}{
		{CountedPart{Known: true, Dollars: 10}, 7, 3 + 2 + 7 + 1},
		{CountedPart{Known: true, Dollars: 1}, 0, 3 + 2 + 1},
		{CountedPart{Why: "no"}, -1, 3 + 2 + 1},
	} {
		r := Report{Workflows: []cost.Row{{Amount: cost.Amount{Engine: 1, Machines: 2}}, {Amount: cost.Amount{Engine: 2}}}, Counted: c.counted, Fixed: []FixedPart{{"alarms", 1.00000004}}}
		r.sum()
		r.round()
		if r.Total != c.total || (r.Rest == nil) != (c.rest < 0) || r.Rest != nil && *r.Rest != c.rest || r.Fixed[0].Dollars != 1 {
			t.Errorf("%+v: total %v, rest %v", c.counted, r.Total, r.Rest)
		}
	}
}

// TestFixed proves that fixed costs are proportional to the share of the month.
func TestFixed(t *testing.T) {
	t.Parallel()
	month, err := cost.ReadMonth("2026-01", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	s := stages.Default("main")
	q := Question{Settings: s, Month: month}
	if got := q.fixed(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	q.Settings.KMSKey, q.Settings.MetricsOf, q.Stack.Dashboards = "alias/x", []string{"a", "b"}, 1
	sum := 0.0
	for _, f := range q.fixed() {
		sum += f.Dollars
	}
	if want := prices.Dashboard + 6*prices.CustomMetric + prices.Key; math.Abs(sum-want) > 1e-9 {
		t.Errorf("%v, want %v", sum, want)
	}
}
