package wire

// LogFile describes a log file.
type LogFile struct {
	FileName string  `json:"fileName"`
	FileSize int64   `json:"fileSize"`
	TaskName string  `json:"taskName"`
	FileTime Moment  `json:"fileTime"`
	AgentID  string  `json:"agentId"`
	Direct   *string `json:"direct"`
}

// MostText is the maximum number of bytes of a file's text in a response.
const MostText = 1 << 20
