package suite

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"zerodag/internal/host"
)

// Long is a lease that does not end within a case.
const Long = time.Hour

// Message returns a message with a body that cases recognize.
func Message(id, group string) host.Message {
	return host.Message{ID: id, Group: group, Body: []byte("body of " + id)}
}

// patience limits how long a case waits for a message.
const patience = 30 * time.Second

// Receive takes one message, which must be visible now or soon.
func Receive(t *testing.T, q host.Queue, lease time.Duration) host.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return Got(q.Receive(ctx, 1, lease))(t)[0]
}

// Nothing checks that no message is visible. It sends a message that marks the end of the queue.
func Nothing(t *testing.T, q host.Queue) {
	t.Helper()
	end := "the end " + rand.Text() // an ID must not be reused
	Must(t, q.Send(t.Context(), Message(end, "")))
	for _, d := range Got(q.Receive(t.Context(), 10, Long))(t) {
		if d.ID != end {
			t.Errorf("received %s, want no message", d.ID)
		}
		Must(t, q.Delete(t.Context(), d))
	}
}
