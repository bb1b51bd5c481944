package schedule_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// row is one recording of Digdag's scheduler.
type row struct {
	Config   *param.Map `json:"config"`
	Timezone string     `json:"timezone"`
	Ref      time.Time  `json:"ref"`
	First    *rowTime   `json:"first"`
	Next     *rowTime   `json:"next"`
	Last     *rowTime   `json:"last"`
	Sequence []rowTime  `json:"sequence"`
	Error    string     `json:"error"`
}

type rowTime struct {
	Time      string `json:"time"`
	TimeLocal string `json:"timeLocal"`
	RunTime   string `json:"runTime"`
}

// TestRows runs every recording; ZERODAG_SCHEDULE_ROWS names a different file of rows.
func TestRows(t *testing.T) {
	t.Parallel()
	file := os.Getenv("ZERODAG_SCHEDULE_ROWS")
	if file == "" {
		file = "testdata/schedule_times.json"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Rows []row `json:"rows"`
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	if len(recorded.Rows) == 0 {
		t.Fatalf("%s has no rows", file)
	}
	for i, r := range recorded.Rows {
		t.Run(fmt.Sprintf("%d %s %s %s", i, param.Text(r.Config), r.Timezone, r.Ref.Format(time.RFC3339)), func(t *testing.T) {
			t.Parallel()
			runRow(t, r)
		})
	}
}

func runRow(t *testing.T, r row) {
	zone, err := schedule.Zone(r.Timezone)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedule.Parse(r.Config, zone)
	if r.Error != "" {
		_, message, _ := strings.Cut(r.Error, ": ")
		if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(message, ".")) {
			t.Fatalf("error %v, recorded %s", err, r.Error)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	first := s.First(r.Ref)
	for _, c := range []struct {
		name string
		got  schedule.Time
		want *rowTime
	}{{"first", first, r.First}, {"next", s.Next(r.Ref), r.Next}, {"last", s.Last(r.Ref), r.Last}} {
		if c.want == nil {
			continue
		}
		if diff := cmp.Diff(*c.want, shown(c.got)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
	for i, want := range r.Sequence {
		first = s.Next(first.Time)
		if diff := cmp.Diff(want, shown(first)); diff != "" {
			t.Errorf("sequence %d:\n%s", i, diff)
		}
	}
}

func shown(t schedule.Time) rowTime {
	return rowTime{
		Time:      t.Time.UTC().Format(time.RFC3339),
		TimeLocal: t.Time.Format("2006-01-02T15:04:05-07:00"),
		RunTime:   t.RunTime.UTC().Format(time.RFC3339),
	}
}
