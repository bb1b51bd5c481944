package sandbox

import (
	"context"
	"errors"
	"fmt"

	"zerodag/internal/host"
)

// Joining is the first message of a runner.
type Joining struct {
	// Secret is chosen by the machine; if it joins again with the same secret, that counts as one join.
	Secret string `json:"secret"`
	// Machine is the launcher's id for the machine; "" if the machine does not know it.
	Machine string `json:"machine,omitempty"`
}

// Joined is the response.
type Joined struct {
	Pass string `json:"pass"` // the token for all later requests
}

// Join gives a runner its pass in exchange for its ticket. Anyone who may view the account's machines can read a
// ticket, so it is valid once: if it is shown a second time, there is no way to know which caller is the machine, and
// the runner is fenced. This also applies if the first caller has left, or was ended, before the second one came.
func (s *Service) Join(ctx context.Context, ticket string, j Joining) (Joined, error) {
	t, err := s.shown(ctx, ticket)
	if err != nil {
		return Joined{}, err
	}
	if t.kind != ticketKind || !isSecret(j.Secret) {
		return Joined{}, ErrGone
	}
	r, err := s.Liveness.Join(ctx, t.name, hashed(j.Secret), s.Now())
	switch {
	case errors.Is(err, host.ErrConflict):
		return Joined{}, s.usedTwice(ctx, t.name)
	case errors.Is(err, host.ErrNotFound):
		return Joined{}, ErrGone
	case err != nil:
		return Joined{}, err
	}
	if err := s.noteMachine(ctx, r, j.Machine); err != nil {
		return Joined{}, err
	}
	pass, err := s.Keys.sign(ctx, passKind, t.name, j.Secret)
	return Joined{Pass: pass}, err
}

// usedTwice ends a runner whose ticket was shown by two callers, and raises an alarm. It first records that the alarm
// is due: if it is cut off or the alarm fails, the next Check tries again.
func (s *Service) usedTwice(ctx context.Context, name string) error {
	r, err := s.Fences.ShownTwice(ctx, name, "its ticket was used twice")
	if errors.Is(err, host.ErrNotFound) {
		return ErrGone
	} else if err != nil {
		return err
	}
	if err := s.warn(ctx, r); err != nil {
		s.Logger.Error("could not send the alarm that a ticket was used twice; the next check tries again", "runner", name, "error", err)
	}
	return ErrGone
}

// warn raises the alarm that the ticket of a runner was shown twice, if the alarm is still due. Raising it twice is
// better than not at all.
func (s *Service) warn(ctx context.Context, r Runner) error {
	if !r.Twice || r.Told {
		return nil
	}
	text := fmt.Sprintf("Two callers used the ticket of machine %s (attempt %d): someone may have read it from the account's ECS tasks or events. "+
		"The machine is stopped and its commands run again. The first caller may have received commands of this attempt with their secrets.", r.Name(), r.Attempt)
	s.Logger.Error("a ticket was used twice", "runner", r.Name(), "attempt", r.Attempt, "project", r.Project)
	if s.Alarm != nil {
		if err := s.Alarm(ctx, text); err != nil {
			return fmt.Errorf("send the alarm about the ticket of runner %s: %w", r.Name(), err)
		}
	}
	if err := s.Fences.Told(ctx, r.Name()); !errors.Is(err, host.ErrNotFound) {
		return err
	}
	return nil
}

// shown checks a token with only the signing keys, without reading a store.
func (s *Service) shown(ctx context.Context, text string) (token, error) {
	t, err := parseToken(text)
	if err != nil {
		return t, ErrGone
	}
	return t, s.Keys.check(ctx, t)
}
