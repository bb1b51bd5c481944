package host

import (
	"cmp"
	"time"

	"zerodag/engine"
)

// Limits holds the limits that a deployment may set. Zero means the default given in the comment.
type Limits struct {
	Attempts     int           // unfinished attempts of a site: 100
	Tasks        int           // tasks of an attempt: 1,000; at most engine.HardLimit
	AttemptTTL   time.Duration // 7 days
	TaskTTL      time.Duration // 1 day
	ReapInterval time.Duration // how often these two are checked: 5 s
	Lease        time.Duration // of a task: 5 min
	Heartbeat    time.Duration // how often a lease is extended: 1 min
	SelfFencing  bool          // a run ends with its task's lease if that cannot be extended
	Threads      int           // tasks at the same time; 0 means no limit
	Pack         int           // tasks in one message: 1
	RunTime      time.Duration // of one run of a task; 0 means no limit
	ProcessTime  time.Duration // maximum lifetime of a process that runs tasks; 0 means no limit
	ChainTime    time.Duration // how long a message may run one task after the other; 0 means no limit
	Retention    time.Duration // for the logs of finished attempts: 30 days
	KeepAttempts time.Duration // how long attempts are kept after their end; 0 means forever
	KeepArchives time.Duration // how long unused archives are kept after the next revision; 0 means forever
	KeepRecords  time.Duration // how long audit log entries are kept; 0 means forever
	KeepLogs     time.Duration // how long task logs are kept after their attempt has ended; 0: as long as the attempt
	StoreRetry   time.Duration // longest time between two tries of a call that the store could not serve: 1 min
	Looks        int           // attempts that are checked concurrently: 1
	Types        []string      // operators whose tasks this process runs if its queue is a Forwarder; nil: all
	Crashes      int           // consecutive crashes of this process during which a task may be under way: 3; below 0: no limit
}

// WithDefaults returns the limits with zeros replaced by their defaults.
func (l Limits) WithDefaults() Limits {
	l.Attempts = cmp.Or(l.Attempts, 100)
	l.Tasks = min(cmp.Or(l.Tasks, engine.DefaultLimit), engine.HardLimit)
	l.AttemptTTL = cmp.Or(l.AttemptTTL, 7*24*time.Hour)
	l.TaskTTL = cmp.Or(l.TaskTTL, 24*time.Hour)
	l.ReapInterval = cmp.Or(l.ReapInterval, 5*time.Second)
	l.Lease = cmp.Or(l.Lease, 5*time.Minute)
	l.Heartbeat = cmp.Or(l.Heartbeat, time.Minute)
	l.Pack = cmp.Or(l.Pack, 1)
	l.Retention = cmp.Or(l.Retention, 30*24*time.Hour)
	l.StoreRetry = cmp.Or(l.StoreRetry, time.Minute)
	l.Looks = cmp.Or(l.Looks, 1)
	l.Crashes = cmp.Or(l.Crashes, 3)
	return l
}

// FenceTime returns how long a process may still be working on a run that it began: the longest time that a process can
// live plus the inaccuracy of clocks and queues. A process whose lifetime is not limited extends the lease of its
// message and stops when the message is gone, which takes less time than a lease lasts.
func (l Limits) FenceTime() time.Duration {
	if l.ProcessTime == 0 {
		return l.Lease
	}
	return l.ProcessTime + 5*time.Minute
}

// MaxCrashes returns the number of consecutive crashes during which a task may be under way before it fails; 0 means no
// limit.
func (l Limits) MaxCrashes() int { return max(0, l.Crashes) }
