package host

import (
	"sync/atomic"
	"time"
)

// Stats are numbers for health and metrics, since the start of this process.
type Stats struct {
	Started, Finished, Failed int64 // attempts
	TasksRun                  int64
	TasksRunning              int64
	SchedulesFired            int64
	ScheduleDelay             time.Duration // of the last one fired
	Errors                    int64         // what failed and will be tried again
}

type counters struct {
	started, finished, failed atomic.Int64
	tasks, running            atomic.Int64
	schedules, delay, errors  atomic.Int64
}

func (c *counters) ended(success bool) {
	c.finished.Add(1)
	if !success {
		c.failed.Add(1)
	}
}

func (c *counters) fired(late time.Duration) {
	c.schedules.Add(1)
	c.delay.Store(int64(late))
}

// Stats returns what was counted.
func (h *Host) Stats() Stats {
	c := &h.stats
	return Stats{Started: c.started.Load(), Finished: c.finished.Load(), Failed: c.failed.Load(),
		TasksRun: c.tasks.Load(), TasksRunning: c.running.Load(), SchedulesFired: c.schedules.Load(),
		ScheduleDelay: time.Duration(c.delay.Load()), Errors: c.errors.Load()}
}
