package host

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/events"
)

// StartGuard is the guard of entry 1, and of the message that Attempts.Start sends.
const StartGuard = "start"

// StartMessage returns the message that Attempts.Start and Begin send once an attempt is stored.
func StartMessage() Message {
	return Message{ID: StartGuard, Body: events.Encode(events.Event{Kind: events.Start})}
}

// EventMessage returns a message for the queue "events", in which each attempt is a group.
func EventMessage(attempt int64, name string, e events.Event) Message {
	return Message{ID: MessageID(attempt, name), Group: strconv.FormatInt(attempt, 10), Body: events.Encode(e)}
}

// SlotsMessage returns a message that makes a task's try request the slots that it waits for; name is the message's
// name.
func SlotsMessage(attempt int64, name string, ask events.SlotsAsk) Message {
	return EventMessage(attempt, "slots-"+name, events.Event{Kind: events.Slots, Slots: &ask})
}

// Guards of deadlines: TimeoutMark begins the guards for `_timeout`.
const (
	TimeoutMark = "x"
	SLAGuard    = "sla"
)

// IsDeadline reports whether a guard belongs to a deadline: its message only limits work that other messages carry out.
func IsDeadline(guard string) bool { return guard == SLAGuard || strings.HasPrefix(guard, TimeoutMark) }

// WakeMark begins the guards of messages that wake a task. A waiting run has a separate message, which must not be
// mistaken for a wake.
const WakeMark = "w"

// WakeMessage returns an event that immediately runs a task that is waiting for its next run, because the condition
// that it waits for is met. It may come too soon or more than once, or have no effect: the message that is due later
// remains.
//
// It is an event, so that an executor wakes all tasks whose commands end at the same time together, and sends them in
// packs, as for their first run.
func WakeMessage(attempt int64, run engine.Run) Message {
	return EventMessage(attempt, WakeMark+RunName(run), events.Event{Kind: events.Due, Run: &run})
}

// Marks of the messages that a revival sends. FenceMark begins the guard of fenced runs: the receiver of a message for
// such a run takes it over instead of beginning it. AgainMark begins the guards of messages that are sent again, so
// that they are not mistaken for copies that may still be queued.
const (
	FenceMark = "fence-"
	AgainMark = "again-"
)

// ReviveMessage returns a message that makes the executor ensure that everything that an attempt waits for has a
// message; name is the name of the revival.
func ReviveMessage(attempt int64, name string) Message {
	return EventMessage(attempt, FenceMark+name, events.Event{Kind: events.Revive})
}

// RunName returns a run's name within its attempt.
func RunName(r engine.Run) string {
	return strconv.Itoa(int(r.Task)) + "." + strconv.Itoa(r.Dispatch)
}

// ListName returns a name that identifies exactly the items of a list, however many there are: an existing message must
// never be mistaken for one with different content.
func ListName(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	all := fnv.New64a()
	for _, name := range names {
		fmt.Fprint(all, name, " ")
	}
	return fmt.Sprintf("%s+%d.%x", names[0], len(names)-1, all.Sum64())
}

// MessageID returns a message's ID, which consists of the attempt and the guard.
func MessageID(attempt int64, guard string) string {
	return strconv.FormatInt(attempt, 10) + "/" + guard
}

// ParseMessageID parses the result of MessageID.
func ParseMessageID(id string) (attempt int64, guard string, err error) {
	number, guard, found := strings.Cut(id, "/")
	attempt, err = strconv.ParseInt(number, 10, 64)
	if err != nil || !found {
		return 0, "", fmt.Errorf("message %q does not name an attempt", id)
	}
	return attempt, guard, nil
}

// FiringsMark begins the IDs of messages of the queue "tasks" that fire schedules.
const FiringsMark = "schedule/"

// FiringsMessage returns a message that requests the firings of schedules; its ID identifies exactly these.
func FiringsMessage(list []events.Firing) Message {
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = fmt.Sprintf("%d/%d", f.Schedule, f.Run)
	}
	return Message{ID: FiringsMark + ListName(names), Body: events.EncodeTask(events.Task{Fire: list})}
}

// StartsMark begins the IDs of messages of the queue "tasks" that start what an event requested. There is no attempt 0.
const StartsMark = "0/start-"

// KeptFor is how long after its due time a message with a stored copy is sent again. By then the receiver has deleted
// the copy or postponed it.
const KeptFor = 30 * time.Minute

// IsKept reports, based on its ID, whether a message's work is not recorded in any log. Such a message stays among the
// timers until its work is done, because it would otherwise be lost with the queue.
func IsKept(id string) bool { return strings.HasPrefix(id, StartsMark) }

// StartingMessage returns a message that requests a start at a given time; its ID identifies exactly this try of
// handling the event.
func StartingMessage(s events.Starting, due time.Time) Message {
	cause := fnv.New64a()
	fmt.Fprint(cause, s.ID)
	return Message{ID: fmt.Sprintf("%s%x-%d", StartsMark, cause.Sum64(), s.Times), Body: events.EncodeTask(events.Task{Start: &s}), Due: due}
}
