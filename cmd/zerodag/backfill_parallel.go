package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zerodag/internal/client"
)

// sideBySide starts the sessions of a backfill one by one, so that no more than so many of them run at once. The
// server knows nothing of it: what has begun goes on without this program, and what has not never begins.
type sideBySide struct {
	*backfillCommand
	schedule client.ID
	request  client.Backfill
	most     int
	args     []string // that name the schedule

	left    []client.Attempt // what the server would start, the earliest first
	running []client.Attempt
	over    []client.Attempt
}

// run starts the sessions and waits for the end of all. The error says what became of those that did not succeed, or why
// no more were started.
func (b *sideBySide) run(ctx context.Context) error {
	for pause := followFirst; len(b.left)+len(b.running) > 0; pause = min(2*pause, followLast) {
		for len(b.left) > 0 && len(b.running) < b.most {
			if err := b.startNext(ctx); err != nil {
				b.tellRest()
				return err
			}
		}
		ended, err := b.look(ctx)
		if err == nil && len(b.running) > 0 && ended == 0 {
			err = b.Wait(ctx, pause)
		}
		if err != nil {
			b.tellRest()
			return err
		}
		if ended > 0 {
			pause = followFirst / 2
		}
	}
	return b.result()
}

// startNext starts the earliest session that is left.
func (b *sideBySide) startNext(ctx context.Context) error {
	next := b.left[0]
	request, err := b.alone(ctx, next.SessionTime)
	if err != nil {
		return err
	}
	list, err := b.Backfill(ctx, b.schedule, request)
	if err != nil {
		return fmt.Errorf("start the session of %s: %w", offsetText(next.SessionTime), err)
	}
	b.left, b.running = b.left[1:], append(b.running, list...)
	for _, a := range list {
		b.hint("%s: attempt %s started, %s", offsetText(a.SessionTime), a.ID, counted(len(b.left), "session")+" left")
	}
	return nil
}

// mostShifts is how often another time is tried from which a session is the first one.
const mostShifts = 4

// alone is the request for one session. From which time on it is the first is not its own time where a schedule starts
// its sessions before or long after these.
func (b *sideBySide) alone(ctx context.Context, session time.Time) (client.Backfill, error) {
	one := 1
	request := b.request
	request.Count, request.From = &one, session
	for range mostShifts {
		request.DryRun = true
		list, err := b.Backfill(ctx, b.schedule, request)
		if err != nil {
			return request, fmt.Errorf("start the session of %s: %w", offsetText(session), err)
		}
		if len(list) == 1 && list[0].SessionTime.Equal(session) {
			request.DryRun = false
			return request, nil
		}
		if len(list) == 1 {
			request.From = request.From.Add(session.Sub(list[0].SessionTime))
		}
	}
	return request, fmt.Errorf("the server does not start the session of %s alone: its schedule has changed meanwhile", offsetText(session))
}

// look asks what became of the attempts that run; ended is how many are over.
func (b *sideBySide) look(ctx context.Context) (ended int, err error) {
	var still []client.Attempt
	for i, a := range b.running {
		now, err := b.Attempt(ctx, a.ID)
		if err != nil {
			b.running = append(still, b.running[i:]...)
			return ended, err
		}
		if !now.Done {
			still = append(still, now)
			continue
		}
		ended++
		b.over = append(b.over, now)
		took := ""
		if now.FinishedAt != nil {
			took = " after " + wholeDuration(now.FinishedAt.Sub(now.CreatedAt))
		}
		b.hint("%s: attempt %s %s%s", offsetText(now.SessionTime), now.ID, now.Status, took)
	}
	b.running = still
	return ended, nil
}

// result says how many sessions succeeded, and what goes on with the others.
func (b *sideBySide) result() error {
	failed := 0
	for _, a := range b.over {
		if !a.Success {
			failed++
		}
	}
	b.hint("%s: %d succeeded, %d failed.", counted(len(b.over), "session"), len(b.over)-failed, failed)
	if failed == 0 {
		return nil
	}
	b.hint("`zerodag attempt ID` says why; `zerodag retry --all-failed` tries them again.")
	return errShown
}

// tellRest says what goes on without this program, and which command starts what has not begun.
func (b *sideBySide) tellRest() {
	for _, a := range b.running {
		b.hint("%s: attempt %s goes on: `zerodag log %s --follow` shows its log.", offsetText(a.SessionTime), a.ID, a.ID)
	}
	if len(b.left) == 0 {
		return
	}
	words := append([]string{program, "backfill"}, b.args...)
	for _, where := range [][2]string{{"--endpoint", b.endpoint}, {"--context", b.context}} {
		if where[1] != "" {
			words = append(words, where[0], where[1])
		}
	}
	words = append(words, "--from", b.left[0].SessionTime.Format("2006-01-02 15:04:05"), "--count", fmt.Sprint(len(b.left)), "--name", b.request.Name, "--parallel", fmt.Sprint(b.most))
	for i, w := range words {
		words[i] = shellWord(w)
	}
	b.hint("%s did not begin, from %s on. This begins what is left: %s", counted(len(b.left), "session"), offsetText(b.left[0].SessionTime), strings.Join(words, " "))
}
