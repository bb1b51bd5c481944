package hosttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/events"
	"zerodag/internal/host/hosttest/suite"
)

// shortLogsSuite checks a host.ShortLogs, which is the Log of its driver.
func shortLogsSuite(t *testing.T, h suite.Harness) {
	suite.Cases{"append takes short logs": shortLogsGo, "take": shortLogsTaken}.Run(t, h)
}

func shortLogsGo(t *testing.T, s suite.Stores) {
	a := suite.Start(t, s)
	s.ShortLogs.KeepShort(a.ID, "one", []byte("1"))
	s.ShortLogs.KeepShort(a.ID+1, "other", []byte("x"))
	suite.Must(t, s.Log.Append(t.Context(), a.ID, entry(2, "n")))
	if list := s.ShortLogs.TakeShort(a.ID); len(list) != 0 {
		t.Errorf("got short logs %v after an append, want none", list)
	}
	if list := s.ShortLogs.TakeShort(a.ID + 1); len(list) != 1 {
		t.Errorf("got short logs %v of another attempt", list)
	}
}

func shortLogsTaken(t *testing.T, s suite.Stores) {
	s.ShortLogs.KeepShort(7, "one", []byte("1"))
	s.ShortLogs.KeepShort(7, "two", nil)
	want := []events.Log{{Name: "one", Content: []byte("1")}, {Name: "two"}}
	got := s.ShortLogs.TakeShort(7) // their names distinguish them; the order has no meaning
	slices.SortFunc(got, func(x, y events.Log) int { return strings.Compare(x.Name, y.Name) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("short logs (-want +got):\n%s", diff)
	}
	if list := s.ShortLogs.TakeShort(7); len(list) != 0 {
		t.Errorf("got short logs %v the second time, want none", list)
	}
}
