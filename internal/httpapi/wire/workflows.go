package wire

// SessionTime is a session time computed for a workflow.
type SessionTime struct {
	Project     IDName `json:"project"`
	Revision    string `json:"revision"`
	SessionTime string `json:"sessionTime"`
	Timezone    string `json:"timezone"`
}
