package wire

// SessionTime is a session time that a workflow would have.
type SessionTime struct {
	Project     IDName `json:"project"`
	Revision    string `json:"revision"`
	SessionTime string `json:"sessionTime"`
	Timezone    string `json:"timezone"`
}
