package localrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/internal/projectfolder"
)

// saving returns a run of a workflow in a folder that contains saved state of sessions.
func saving(t *testing.T, config *param.Map, sessions ...string) *run {
	t.Helper()
	root := t.TempDir()
	for _, name := range sessions {
		folder := filepath.Join(root, ".zerodag/status", filepath.Dir(name))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, ".zerodag/status", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := projectfolder.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return &run{Options: &Options{Session: "last"}, Work: Work{Folder: f, Workflow: dig.Workflow{Name: "w/x", Config: config}}}
}

// TestSessionTime checks which session each form of --session means in the workflow's zone, even if clocks have just
// been changed.
func TestSessionTime(t *testing.T) {
	t.Parallel()
	zone, err := schedule.Zone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 29, 10, 20, 30, 0, time.UTC) // clocks went from 2 to 3 that night
	daily := param.New("schedule", param.New("daily>", "07:00:00"))
	for _, c := range []struct {
		session string
		config  *param.Map
		saved   []string
		want    string
		why     sessionChoice
	}{
		{"daily", nil, nil, "2026-03-29T00:00:00+01:00", sessionNamed},
		{"today", nil, nil, "2026-03-29T00:00:00+01:00", sessionNamed},
		{"yesterday", nil, nil, "2026-03-28T00:00:00+01:00", sessionNamed},
		{"hourly", nil, nil, "2026-03-29T12:00:00+02:00", sessionNamed},
		{"schedule", daily, nil, "2026-03-29T00:00:00+01:00", sessionNamed},
		{"last", nil, nil, "2026-03-29T00:00:00+01:00", sessionToday},
		{"last", daily, nil, "2026-03-29T00:00:00+01:00", sessionScheduled},
		{"last", daily, []string{"20260101T000000+0100/+w%2Fx+a.yml", "20250101T000000+0100/+w%2Fx+a.yml"}, "2026-01-01T00:00:00+01:00", sessionSaved},
		{"last", nil, []string{"20260101T000000+0100/+other+a.yml", "20260102T000000+0100/+w%2Fxy+a.yml", "nonsense/+w%2Fx+a.yml", "20260103T000000+0100/+w%2Fx.yml"}, "2026-03-29T00:00:00+01:00", sessionToday},
		{"2026-01-02", nil, nil, "2026-01-02T00:00:00+01:00", sessionNamed},
		{"2026-01-02 03:04:05", nil, nil, "2026-01-02T03:04:05+01:00", sessionNamed},
		{"2026-03-29 02:30:00", nil, nil, "2026-03-29T03:30:00+02:00", sessionNamed}, // that time did not exist
		{"2026-01-02T03:04:05+09:00", nil, nil, "2026-01-01T19:04:05+01:00", sessionNamed},
		{"2026-01-02 03:04:05Z", nil, nil, "2026-01-02T04:04:05+01:00", sessionNamed},
	} {
		r := saving(t, c.config, c.saved...)
		r.Session = c.session
		got, why, err := r.sessionTime(zone, now)
		if err != nil || got.Format(time.RFC3339) != c.want || why != c.why {
			t.Errorf("%s with %v: %s, %q, %v, want %s", c.session, c.saved, got.Format(time.RFC3339), why, err, c.want)
		}
	}
	for session, want := range map[string]string{"2026-02-30": "--session \"2026-02-30\": there is no such time: day out of range", "2026-13-01 00:00:00": "there is no such time", "schedule": "schedule is not set to this workflow", "soon": "--session must be hourly, daily", "": "--session must be", "\x1b[2J": "--session must be"} {
		r := saving(t, nil)
		r.Session = session
		if got, _, err := r.sessionTime(zone, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v, want %q", session, got, err, want)
		}
	}
}
