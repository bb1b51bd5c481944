package host

import "time"

// Vitals shows how full a single-node server is.
type Vitals struct {
	Database   int64 // bytes of its database; 0 in memory
	Free       int64 // bytes free where its data is stored; 0 if the system does not report it
	Unfinished int   // attempts of all sites
	Events     int   // messages of the queue "events" that are due
	Tasks      int   // due messages of the queue "tasks", including running tasks
	Waiting    int   // notices that will be retried
	GivenUp    int   // notices that were given up on
	// Connections describes this process's connections to the database; nil if it needs none.
	Connections *Connections
}

// Connections describes a pool of connections to a database.
type Connections struct {
	Most, Open, Used int
	Waits            int64         // how many times a caller had to wait for one
	Waited           time.Duration // in total
}

// Census shows the work in a database by workflow and by pool, for metrics.
type Census struct {
	Unfinished []WorkflowCount
	Succeeded  []WorkflowTime // workflows whose schedule is enabled
	Pools      []PoolCount
}

// WorkflowName identifies a workflow across revisions.
type WorkflowName struct {
	Site              int64
	Project, Workflow string
}

// WorkflowCount is the number of unfinished attempts of a workflow.
type WorkflowCount struct {
	WorkflowName
	Attempts int
}

// WorkflowTime is when the last attempt of a workflow succeeded. If none of its last CensusDepth sessions succeeded, it
// is when its schedule was created.
type WorkflowTime struct {
	WorkflowName
	At time.Time
}

// CensusDepth is how many sessions of a workflow a Census reads.
const CensusDepth = 20

// PoolCount shows how busy a pool is.
type PoolCount struct {
	Site    int64
	Project string // "" for a pool of the site
	Name    string
	Slots   int
	Taken   int
	Waiting int       // claims
	Since   time.Time // when the oldest of them began to wait; zero if there is none
}
