package sandbox

import (
	"context"
	"errors"

	"zerodag/internal/host"
	"zerodag/operators"
)

// Prepare launches a machine for an upcoming command unless the attempt has one of its class, because launching takes
// longer than most tasks before a command. If the launch fails, the command encounters the failure again and reports
// it.
func (s *Service) Prepare(ctx context.Context, id operators.Identity, b operators.Sandbox) {
	if b.Fresh || b.Executor != "" && b.Executor != operators.OnFargate {
		return
	}
	class, err := (&commands{s, id, "", ""}).class(b, "", 0)
	if err != nil {
		return
	}
	list, err := s.Runners.Runners(ctx, id.AttemptID)
	for _, r := range list {
		if r.Class == class.Key() && s.usable(r) {
			return
		}
	}
	free := freeSlots(list, class.Key())
	if err == nil && len(free) > 0 {
		err = s.start(ctx, Command{Attempt: id.AttemptID, Class: class.Key(), Site: id.SiteID, Project: id.ProjectID}, class, free[0])
	}
	if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, host.ErrUnavailable) {
		s.Logger.Warn("could not launch a machine early", "attempt", id.AttemptID, "error", err)
	}
}
