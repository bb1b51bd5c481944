package httpapi

// cause is why an attempt failed, as somebody is told who has not opened it.
type cause struct {
	// Task is the full name of the first task that failed for good; null of an attempt that did not fail.
	Task    *string  `json:"task"`
	Message *string  `json:"message"`
	Lines   []string `json:"lines"` // the last ones that the task printed
}

func getCause(c *call) (any, error) {
	a, err := c.attemptOf("id")
	if err != nil {
		return nil, err
	}
	task, message, err := c.console.Cause(c.ctx(), a)
	if err != nil {
		return nil, err
	}
	answer := cause{textOrNull(task), textOrNull(beginning(message)), []string{}}
	if task != "" {
		answer.Lines = append(answer.Lines, c.Node.LastLines(c.ctx(), a, task)...)
	}
	return answer, nil
}
