package host

import "time"

// Depth is how much one queue holds.
type Depth struct {
	Queue  string // "events" or "tasks"
	Ready  int    // messages that can be received now
	Later  int    // that are not due yet
	Leased int    // received and in progress
	Behind int    // waiting for an earlier message of their group; queues that cannot count these include them in Ready
	// Aside is how many dead letters there are; 0 where the queue puts none aside.
	Aside int
	// Oldest is since when the oldest of Ready has waited; zero: there is none, or it is not known.
	Oldest time.Time
	// About means that the numbers are estimates.
	About bool
}

// MostQueuedBody is how many bytes a body may have to be shown in a list of messages.
const MostQueuedBody = 32 << 10

// Queued is a message as a queue stores it.
type Queued struct {
	Message
	Place int64 // in the order sent
	Size  int   // bytes of the body; Body is nil if there are more than MostQueuedBody
	Count int   // how often it was received
	// Since is from when on it could be received, or from when on it will be: when it was sent, or is due. Of a message
	// that is older than the process that answers, and had no time to wait for, it is when that was started.
	Since  time.Time
	Until  time.Time // end of its lease; zero: not leased
	Behind bool      // an earlier message of its group comes first
}

// DeadLetter is a message that was received too often and put aside.
type DeadLetter struct {
	Message
	ID     string // the service's ID; that of the message is Message.ID
	Queue  string // that it was put aside of
	Size   int    // bytes of the body as it was sent
	Sent   time.Time
	Count  int    // how often it was received, including as a dead letter and when viewed; approximate
	Times  int    // how often it was sent back before
	Broken string // why it cannot be read; "": it can
}
