package wire

// Search holds the results of a search.
type Search struct {
	Projects  []IDName        `json:"projects"`
	Workflows []FoundWorkflow `json:"workflows"`
	Tasks     []FoundTask     `json:"tasks"`
	Session   *Brief          `json:"session"` // the last attempt of the session
	Attempt   *Brief          `json:"attempt"`
}

// FoundWorkflow is a workflow that a search found.
type FoundWorkflow struct {
	ID      ID     `json:"id"`
	Name    string `json:"name"`
	Project IDName `json:"project"`
}

// FoundTask is a task that a search found.
type FoundTask struct {
	Name     string        `json:"name"`
	Workflow FoundWorkflow `json:"workflow"`
}
