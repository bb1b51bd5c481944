package wire

// TaskDetail contains all data about a task.
type TaskDetail struct {
	Task Task `json:"task"`
	// Params holds the parameters that the task sees from the rest of the attempt, and its own exports, without the
	// server's parameters for all attempts; null until the task has begun, and if it is larger than mostParams.
	Params *Object `json:"params"`
	// Logs lists the log files of its runs, the first one first: each run that wrote something has one or more.
	Logs []LogFile `json:"logs"`
	// Place is where the task is defined; null unless it was requested and is known.
	Place *Place `json:"place"`
}

// MostParams is the maximum size in bytes of the parameters in a response.
const MostParams = 2 << 20
