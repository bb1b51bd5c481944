package cost

import (
	"cmp"
	"slices"
	"time"

	"zerodag/internal/prices"
	"zerodag/internal/sandbox"
)

// Kind describes which resources a task uses.
type Kind int

// The kinds of tasks.
const (
	None     Kind = iota // nothing: a group, or a task that did not run
	Inline               // a moment in the function that advances the attempt
	Agent                // a run in the function for tasks
	Command              // a machine on Fargate
	Function             // a run in the function for commands
)

// Task holds the data of a task that an estimate needs.
type Task struct {
	Kind     Kind
	From, To time.Time     // from its first run to its end, waits included
	Machine  sandbox.Class // for a Command
}

// Attempt is an attempt with its tasks.
type Attempt struct {
	Finished time.Time // zero while it runs
	Tasks    []Task
}

// Stage holds the properties of the deployment that determine prices.
type Stage struct {
	ARMMachines    bool // images are for arm64
	PublicAddress  bool // machines have public addresses, which are billed
	ARMFunctions   bool
	FunctionMemory int // the memory in MiB of the function for commands
}

// Amount is a part of a bill in dollars, with its components.
type Amount struct {
	Tasks    float64 `json:"tasks"`    // tasks that ran
	Commands float64 `json:"commands"` // tasks that ran on machines or in the function for commands
	CPUHours float64 `json:"cpuHours"` // vCPU hours of machines
	GBHours  float64 `json:"gbHours"`
	Engine   float64 `json:"engine"`   // dollars
	Machines float64 `json:"machines"` // dollars: Fargate with public addresses, and the function for commands
}

// Total returns the whole amount in dollars.
func (a Amount) Total() float64 { return a.Engine + a.Machines }

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.Tasks + b.Tasks, a.Commands + b.Commands, a.CPUHours + b.CPUHours, a.GBHours + b.GBHours, a.Engine + b.Engine, a.Machines + b.Machines}
}

// times returns an amount multiplied by n.
func (a Amount) times(n float64) Amount {
	return Amount{a.Tasks * n, a.Commands * n, a.CPUHours * n, a.GBHours * n, a.Engine * n, a.Machines * n}
}

// Of returns the cost of an attempt and its tasks.
func (s Stage) Of(a Attempt) Amount {
	sum := Amount{Engine: prices.EngineAttempt}
	handed := false // a task was sent to an agent, which costs the attempt an extra message
	var commands []Task
	for _, t := range a.Tasks {
		if t.Kind == None {
			continue
		}
		sum.Tasks++
		switch {
		case t.Kind == Inline:
			sum.Engine += prices.EngineInline
			continue
		case handed:
			sum.Engine += prices.EngineTask
		default:
			handed = true
			sum.Engine += prices.EngineFirst
		}
		switch t.Kind {
		case Command:
			sum.Commands++
			sum.Engine += prices.EngineCommand
			commands = append(commands, t)
		case Function:
			sum.Commands++
			sum.Machines += prices.LambdaRequest + t.To.Sub(t.From).Seconds()*float64(s.FunctionMemory)/1024*s.second()
		}
	}
	for _, m := range machines(commands, a.Finished) {
		hours := max(m.to.Sub(m.from), leastBilled).Hours()
		cpu, memory := hours*float64(m.class.CPU)/1024, hours*float64(m.class.Memory)/1024
		sum.CPUHours, sum.GBHours = sum.CPUHours+cpu, sum.GBHours+memory
		if s.ARMMachines {
			sum.Machines += cpu*prices.FargateARMCPUHour + memory*prices.FargateARMGBHour
		} else {
			sum.Machines += cpu*prices.FargateCPUHour + memory*prices.FargateGBHour
		}
		if s.PublicAddress {
			sum.Machines += hours * prices.AddressHour
		}
	}
	return sum
}

// second returns a function's price per GB-second.
func (s Stage) second() float64 {
	if s.ARMFunctions {
		return prices.LambdaGBSecond
	}
	return prices.LambdaX86Second
}

const (
	leastBilled = time.Minute // minimum time that Fargate bills for a machine
	idle        = time.Minute // how long a machine stays without a command while its attempt runs
)

// machine is a machine that an attempt must have had.
type machine struct {
	class    sandbox.Class
	from, to time.Time
	ends     []time.Time // of its commands
}

// machines returns the machines that an attempt's commands must have used according to the rules of package sandbox:
// commands of a class share machines, another machine is launched when all of them are full, and there are at most
// MaxRunners machines. A machine is billed until a minute after its last command, or until its attempt ends.
func machines(commands []Task, finished time.Time) (list []*machine) {
	slices.SortStableFunc(commands, func(a, b Task) int { return cmp.Or(a.From.Compare(b.From), a.To.Compare(b.To)) })
	classes := map[string][]*machine{}
	for _, c := range commands {
		key := c.Machine.Key()
		var chosen *machine
		alive := 0
		for _, m := range classes[key] {
			if c.From.After(m.last().Add(idle)) {
				continue // the machine is gone
			}
			alive++
			if chosen == nil || m.load(c.From) < chosen.load(c.From) {
				chosen = m
			}
		}
		if chosen == nil || chosen.load(c.From) >= c.Machine.Depth() && alive < sandbox.MaxRunners {
			chosen = &machine{class: c.Machine, from: c.From}
			classes[key] = append(classes[key], chosen)
			list = append(list, chosen)
		}
		chosen.ends = append(chosen.ends, c.To)
	}
	for _, m := range list {
		m.to = m.last().Add(idle)
		if !finished.IsZero() && finished.Before(m.to) {
			m.to = later(finished, m.last())
		}
	}
	return list
}

// last returns when a machine's last command ended.
func (m *machine) last() time.Time { return slices.MaxFunc(m.ends, time.Time.Compare) }

// load returns how many commands a machine is running at a given time.
func (m *machine) load(at time.Time) (n int) {
	for _, end := range m.ends {
		if end.After(at) {
			n++
		}
	}
	return n
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Row holds what a workflow's attempts cost.
type Row struct {
	ProjectID string `json:"projectId"`
	Project   string `json:"project"`
	Workflow  string `json:"workflow"`
	Attempts  int    `json:"attempts"`
	Read      int    `json:"read"` // attempts whose tasks were read; the others are assumed to be like them
	Amount
	Dollars float64 `json:"dollars"`
}

// RowOf returns the row for a workflow with a number of attempts, some of which were read.
func RowOf(projectID, project, workflow string, attempts int, read []Amount) Row {
	r := Row{ProjectID: projectID, Project: project, Workflow: workflow, Attempts: attempts, Read: len(read)}
	for _, a := range read {
		r.Amount = r.Add(a)
	}
	if len(read) > 0 {
		r.Amount = r.times(float64(attempts) / float64(len(read)))
	} else {
		r.Engine = float64(attempts) * prices.EngineAttempt
	}
	r.Dollars = r.Total()
	return r
}

// Sample chooses n elements of a list, spread evenly over it; all of them if n is 0 or the list has no more than n.
func Sample[T any](list []T, n int) []T {
	if n <= 0 || n >= len(list) {
		return list
	}
	chosen := make([]T, n)
	for i := range chosen {
		chosen[i] = list[(2*i+1)*len(list)/(2*n)]
	}
	return chosen
}
