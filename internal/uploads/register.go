package uploads

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"zerodag/internal/catalogue"
	"zerodag/internal/host"
)

// Limits on a registration: the time that is reserved to report that the function's time was too short, and how often a
// registration is tried while the store is unavailable. Lambda would retry only after a minute, while the pusher waits.
const (
	toSayWhy    = 10 * time.Second
	uploadTries = 4
)

// Register registers archives that were put into slots, by the keys of the blobs, each separately. The store may
// announce a blob twice, late, or while another call is working on it. The error concerns registrations that failed
// because of the deployment; their pushers are notified.
func (u *Uploads) Register(ctx context.Context, keys ...string) error {
	var failed []error
	for _, key := range keys {
		if err := u.answer(ctx, strings.TrimPrefix(key, uploadFolder)); err != nil {
			failed = append(failed, fmt.Errorf("register %s: %w", key, err))
		}
	}
	return errors.Join(failed...)
}

func (u *Uploads) answer(ctx context.Context, id string) error {
	log, begin := u.Logger.With("upload", id), time.Now()
	s, err := u.slot(ctx, id)
	if errors.Is(err, host.ErrNotFound) {
		log.Warn("object is in no slot: ignored")
		return nil
	}
	if err != nil {
		return err
	}
	var before result
	if err := u.load(ctx, resultFolder+id, &before); !errors.Is(err, host.ErrNotFound) {
		return err // the pusher has its response: this was reported again, or it is a failure that Lambda retries
	}
	p, err := u.register(ctx, id, s)
	r := result{Project: p.ID, Revision: s.Revision}
	log = log.With("site", s.Site, "project", s.Project, "revision", s.Revision, "bytes", s.Size, "took", time.Since(begin).String())
	var user *host.Error
	switch {
	case errors.As(err, &user):
		r.Err, err = &host.Error{Code: user.Code, Message: user.Message}, nil
		log.Info("upload was rejected", "why", user.Message)
	case err != nil:
		r.Err = &host.Error{Message: "The archive could not be registered: push it again. The log of the upload function shows the cause."}
		log.Error("upload could not be registered", "error", err)
	default:
		u.audit(ctx, s)
		log.Info("upload registered")
	}
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), toSayWhy/2)
	defer cancel()
	return errors.Join(err, u.keep(kept, resultFolder+id, r))
}

// retryWait returns how long to wait before the next retry: 1 s, 2 s, 4 s.
func retryWait(try int) time.Duration { return time.Second << (try - 1) }

// register pushes, and retries while the store is unavailable. It turns a panic into an error because other records
// wait.
func (u *Uploads) register(ctx context.Context, id string, s slot) (p host.Project, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-toSayWhy))
		defer cancel()
	}
	for try := 1; ; try++ {
		p, err = u.Registrar.PushUploaded(ctx, s.PushRequest, catalogue.Uploaded{ID: id, Key: uploadFolder + id, Size: s.Size})
		if !errors.Is(err, host.ErrUnavailable) || try == uploadTries {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, err
		case <-time.After(retryWait(try)):
		}
	}
}

// audit records the push. If that fails, the push remains valid.
func (u *Uploads) audit(ctx context.Context, s slot) {
	r := host.Record{At: u.Now().UTC(), Site: s.Site, Who: s.Who, Action: catalogue.PushAction, Target: s.PushRequest.Target(), Origin: s.Origin}
	if err := u.Audit.Record(ctx, r); err != nil {
		u.Logger.Error("push is not in the audit log", "target", r.Target, "who", r.Who, "error", err)
	}
}
