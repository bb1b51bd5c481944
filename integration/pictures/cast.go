package pictures

import "time"

// Cast is what was drawn on a terminal, and when.
type Cast struct {
	began  time.Time
	events []event
}

// event is some output, so long after the beginning.
type event struct {
	at   time.Duration
	data string
}

func (c *Cast) add(p []byte) {
	if c.began.IsZero() {
		c.began = time.Now()
	}
	c.events = append(c.events, event{time.Since(c.began), string(p)})
}
