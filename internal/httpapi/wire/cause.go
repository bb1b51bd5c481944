package wire

// Cause describes why an attempt failed, as shown outside the attempt's page.
type Cause struct {
	// Task is the full name of the first task that failed without further retries; null if the attempt did not fail.
	Task    *string  `json:"task"`
	Message *string  `json:"message"`
	Lines   []string `json:"lines"` // the last lines that the task printed
}
