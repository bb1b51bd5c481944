package prices

// The engine's own cost for each attempt and task, for all services together, as integration/stackbench counts it on
// LocalStack (a test there compares the numbers). The share for the functions' running time was measured on a computer,
// not on AWS.
const (
	EngineAttempt = 14.14 * perMillion // started by the API, with its first task
	EngineInline  = 0.024 * perMillion // a task that the host runs between two steps: echo>, if>, for_each> ...
	EngineTask    = 0.689 * perMillion // a task that an agent runs, in a chain
	EngineFirst   = 2.170 * perMillion // the first such task of an attempt, to which it is handed over
	// EngineCommand is a command on a machine: two runs of the task, each with its hops, and five writes. No benchmark
	// measures it: it is composed of the prices above.
	EngineCommand = 2*(3*(StandardRequest+FairRequest)+2*LambdaRequest) + 5*WriteUnit
)

// AlarmMetrics is how many metrics the alarms of a stage read.
const AlarmMetrics = 12

// ReleaseAlarmMetrics is how many metrics the alarms that stop a gradual deploy read.
const ReleaseAlarmMetrics = 12
