package host

import "time"

// Depth describes one queue's size.
type Depth struct {
	Queue  string // "events" or "tasks"
	Ready  int    // messages that can be received now
	Later  int    // messages that are not due yet
	Leased int    // received and in progress
	Behind int    // waiting for an earlier message of their group; queues that cannot count these include them in Ready
	// Aside counts the dead letters; 0 if the queue keeps none.
	Aside int
	// Oldest is when the oldest message of Ready began to wait; zero if there is none or the time is unknown.
	Oldest time.Time
	// About means that the numbers are estimates.
	About bool
}

// MostQueuedBody is the maximum size in bytes of a body that is shown in a list of messages.
const MostQueuedBody = 32 << 10

// Queued is a message as a queue stores it.
type Queued struct {
	Message
	Place int64 // in the order sent
	Size  int   // bytes of the body; Body is nil if there are more than MostQueuedBody
	Count int   // how many times it was received
	// Since is the time from which the message can be received: when it was sent or is due. For a message without a due
	// time that is older than the responding process, it is when that process was started.
	Since  time.Time
	Until  time.Time // end of its lease; zero: not leased
	Behind bool      // an earlier message of its group comes first
	Holder string    // the name of the server that holds the lease; "" if it is not leased
}

// DeadLetter is a message that was received too often and was set aside.
type DeadLetter struct {
	Message
	ID     string // the service's ID; Message.ID is the ID of the message
	Queue  string // the queue that it comes from
	Size   int    // bytes of the body as it was sent
	Sent   time.Time
	Count  int    // how many times it was received, including as a dead letter and when viewed; approximate
	Times  int    // how many times it has been sent back
	Broken string // why it cannot be read; "" if it can
}
