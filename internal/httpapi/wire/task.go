package wire

// TaskDetail has everything about a task.
type TaskDetail struct {
	Task Task `json:"task"`
	// Params is what the task sees of the rest of the attempt, and its own exports, without the server's own parameters
	// for all attempts; null before it has begun, and if it is larger than mostParams.
	Params *Object `json:"params"`
	// Logs are the files of its runs, the first one first: each run that wrote something has one, or several.
	Logs []LogFile `json:"logs"`
	// Place is where the task is written; null unless it was requested and is known.
	Place *Place `json:"place"`
}

// MostParams is how many bytes of parameters an answer has.
const MostParams = 2 << 20
