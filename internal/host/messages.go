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

// StartGuard is the guard of entry 1: the message that Attempts.Start sends.
const StartGuard = "start"

// StartMessage is what Attempts.Start and Begin send once an attempt is stored.
func StartMessage() Message {
	return Message{ID: StartGuard, Body: events.Encode(events.Event{Kind: events.Start})}
}

// EventMessage is a message of the queue "events": an attempt is a group.
func EventMessage(attempt int64, name string, e events.Event) Message {
	return Message{ID: MessageID(attempt, name), Group: strconv.FormatInt(attempt, 10), Body: events.Encode(e)}
}

// SlotsMessage makes a try of a task request the slots that it waits for; name is the name of the message.
func SlotsMessage(attempt int64, name string, ask events.SlotsAsk) Message {
	return EventMessage(attempt, "slots-"+name, events.Event{Kind: events.Slots, Slots: &ask})
}

// Guards of deadlines: TimeoutMark begins those of `_timeout`.
const (
	TimeoutMark = "x"
	SLAGuard    = "sla"
)

// IsDeadline reports whether a guard is that of a deadline: its message limits work, and other messages carry the work
// on.
func IsDeadline(guard string) bool { return guard == SLAGuard || strings.HasPrefix(guard, TimeoutMark) }

// WakeMark begins the guards of messages that wake a task. A waiting run has a separate message, which must not be
// mistaken for a wake.
const WakeMark = "w"

// WakeMessage is an event that makes a task run now that waits for its next run, because the event it waits for has
// happened. It may come too soon, more than once, or to no effect: the message that is due later remains.
//
// It is an event, so that an executor wakes together all tasks whose commands end at the same time: they are then
// packs, as at their first run.
func WakeMessage(attempt int64, run engine.Run) Message {
	return EventMessage(attempt, WakeMark+RunName(run), events.Event{Kind: events.Due, Run: &run})
}

// Marks of the messages that a revival sends. FenceMark begins the guard of fenced runs: the receiver of a message for
// such a run takes it over instead of beginning it. AgainMark begins the guards of messages that are sent once more, so
// that they are not mistaken for copies that may still be queued.
const (
	FenceMark = "fence-"
	AgainMark = "again-"
)

// ReviveMessage asks the executor to make sure that everything an attempt waits for has a message; name is the name of
// the revival.
func ReviveMessage(attempt int64, name string) Message {
	return EventMessage(attempt, FenceMark+name, events.Event{Kind: events.Revive})
}

// RunName names a run within its attempt.
func RunName(r engine.Run) string {
	return strconv.Itoa(int(r.Task)) + "." + strconv.Itoa(r.Dispatch)
}

// ListName names exactly the items of a list, however many they are: an existing message must never be mistaken for one
// with other content.
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

// MessageID makes the ID of a message: the attempt, and the guard that the message is there.
func MessageID(attempt int64, guard string) string {
	return strconv.FormatInt(attempt, 10) + "/" + guard
}

// ParseMessageID reads what MessageID makes.
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

// FiringsMessage requests the firings of schedules; its ID identifies exactly these.
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

// IsKept reports whether a message, by its ID, is in no log. Such a message stays among the timers until its work is
// done, because it would otherwise be lost with the queue.
func IsKept(id string) bool { return strings.HasPrefix(id, StartsMark) }

// StartingMessage requests a start at a time; its ID identifies exactly this attempt at handling the event.
func StartingMessage(s events.Starting, due time.Time) Message {
	cause := fnv.New64a()
	fmt.Fprint(cause, s.ID)
	return Message{ID: fmt.Sprintf("%s%x-%d", StartsMark, cause.Sum64(), s.Times), Body: events.EncodeTask(events.Task{Start: &s}), Due: due}
}
