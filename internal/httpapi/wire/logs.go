package wire

// LogFile is the handle of a log file.
type LogFile struct {
	FileName string  `json:"fileName"`
	FileSize int64   `json:"fileSize"`
	TaskName string  `json:"taskName"`
	FileTime Moment  `json:"fileTime"`
	AgentID  string  `json:"agentId"`
	Direct   *string `json:"direct"`
}

// MostText is how much text of a file an answer has, in bytes.
const MostText = 1 << 20
