package hosttest

import (
	"sync"
	"testing"

	"zerodag/internal/host"
	"zerodag/internal/host/hosttest/suite"
)

// outageSuite checks a driver while its library fails: the host waits and retries only after host.ErrUnavailable.
func outageSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"changes fail, then succeed": outageChanges, "receive fails": outageReceive}.Run(t, h)
}

func outageChanges(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	a, event := underWay(t, s)
	end := s.Outage(t)
	var all sync.WaitGroup // concurrently, because some drivers retry for a while
	for what, change := range changes(s, a, event) {
		all.Go(func() { suite.WantError(t, what+" during the outage", change(ctx), host.ErrUnavailable) })
	}
	all.Wait()
	end()
	list := changes(s, a, event)
	if begin := list["begin"]; begin != nil { // while its message exists
		suite.WantError(t, "begin after the outage", begin(ctx), nil)
		delete(list, "begin")
	}
	for what, change := range list {
		suite.WantError(t, what+" after the outage", change(ctx), nil)
	}
	if l := suite.Got(s.Log.Load(ctx, a.ID))(t); len(l.Entries) != 2 {
		t.Errorf("got %d entries in the log, want 2", len(l.Entries))
	}
	if list := suite.Got(s.Audit.Audits(ctx, host.AuditQuery{Site: 1}))(t); len(list) != 1 {
		t.Errorf("got %d entries in the audit log, want 1", len(list))
	}
	if list := suite.Got(s.Sessions.Sessions(ctx, host.SessionQuery{Site: 1, Count: 10}))(t); len(list) != 2 {
		t.Errorf("got %d sessions, want 2", len(list))
	}
}

// outageReceive receives a task during the outage. The call must fail, because otherwise the task would begin without a
// record.
func outageReceive(t *testing.T, s suite.Stores) {
	ctx := t.Context()
	suite.Must(t, s.Tasks.Send(ctx, suite.Message("a", "")))
	end := s.Outage(t)
	_, err := s.Tasks.Receive(ctx, 1, suite.Long)
	suite.WantError(t, "receive during the outage", err, host.ErrUnavailable)
	end()
	wantDelivery(t, s, "after the outage", suite.Receive(t, s.Tasks, suite.Long), 1, false, false, "")
}
