package script

import (
	"testing"
	"time"

	"zerodag/engine/schedule"
)

// TestEndOfLeapYears checks that the offset of every local hour around the end of a year is found, including leap
// years, in which Go's zone bounds stop advancing on the last day: a search that follows them would never end.
func TestEndOfLeapYears(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"America/Los_Angeles", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "Asia/Tokyo"} {
		zone, err := schedule.Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for year := 2020; year <= 2060; year++ {
			_, want := time.Date(year, time.December, 31, 12, 0, 0, 0, zone).Zone() // no zone here changes within these days
			for hour := range 72 {
				wall := time.Date(year, time.December, 30, hour, 0, 0, 0, time.UTC)
				if got := offsetAt(wall.Unix(), zone); got != int64(want) {
					t.Errorf("%s in %s: offset %d, want %d", wall.Format("2006-01-02 15:04"), name, got, want)
				}
			}
		}
	}
}
