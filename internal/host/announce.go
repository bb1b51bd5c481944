package host

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine"
	"zerodag/engine/schedule"
	"zerodag/events"
)

// announce tells the bus about an attempt. Who gets the error tells it again: the message
// that leads here is deleted only afterwards.
func (h *Host) announce(ctx context.Context, a Attempt, topic events.Topic, at time.Time) error {
	session := a.SessionTime
	if zone, err := schedule.Zone(a.Zone); err == nil {
		session = session.In(zone)
	}
	id := strconv.FormatInt(a.ID, 10)
	x := events.Announcement{Topic: topic, Time: at, Detail: events.AttemptDetail{
		ID: id + "/" + strings.ToLower(strings.ReplaceAll(string(topic), " ", "-")), SiteID: a.Site,
		ProjectID: strconv.FormatInt(a.Project.ID, 10), Project: a.Project.Name, Workflow: a.Workflow.Name,
		SessionID: strconv.FormatInt(a.SessionID, 10), SessionUUID: a.SessionUUID, SessionTime: session.Format(time.RFC3339),
		AttemptID: id, RetryAttemptName: a.RetryName, Status: a.Status(), CreatedAt: a.CreatedAt, FinishedAt: a.FinishedAt,
	}}
	if err := h.Bus.Announce(ctx, x); err != nil {
		return fmt.Errorf("announce %q of attempt %d: %w", topic, a.ID, err)
	}
	return nil
}

// announceStep tells what a step was about, before anything is carried out: what failed then is
// done again as a whole. The lock is held.
func (h *Host) announceStep(ctx context.Context, l *live, a *act) error {
	if a.begins {
		if err := h.announce(ctx, l.row, events.AttemptStarted, l.row.CreatedAt); err != nil {
			return err
		}
	}
	if !a.sla {
		return nil
	}
	return h.announceSLA(ctx, l)
}

// announceEnd tells how an attempt ended.
func (h *Host) announceEnd(ctx context.Context, a Attempt) error {
	topic := events.AttemptFailed
	switch {
	case a.Success:
		topic = events.AttemptSucceeded
	case a.Canceled:
		topic = events.AttemptKilled
	}
	return h.announce(ctx, a, topic, a.FinishedAt)
}

// announceSLA tells that the time of `sla:` came before the end of the attempt. The lock is
// held.
func (h *Host) announceSLA(ctx context.Context, l *live) error {
	if !slices.ContainsFunc(l.state.Tasks(), func(t *engine.Task) bool { return strings.Contains(t.Name, "^sla") }) {
		return nil
	}
	return h.announce(ctx, l.row, events.SLAMissed, h.Now().UTC())
}
