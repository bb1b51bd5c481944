package wire

// Cause is why an attempt failed, as somebody is told who has not opened it.
type Cause struct {
	// Task is the full name of the first task that failed for good; null of an attempt that did not fail.
	Task    *string  `json:"task"`
	Message *string  `json:"message"`
	Lines   []string `json:"lines"` // the last ones that the task printed
}
