package schedule

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRegions checks that every region in the program can be used, and that all regions that users may write exist.
func TestRegions(t *testing.T) {
	t.Parallel()
	n := 0
	for name := range regions() {
		if strings.HasSuffix(name, "/") {
			continue // a folder
		}
		if n++; n > 1000 {
			t.Fatal("there are too many regions")
		}
		if _, err := region(name); err != nil {
			t.Error(err)
		}
	}
	if n < 590 {
		t.Errorf("%d regions, there are some 600", n)
	}
	for _, name := range []string{"Asia", "Asia/", "asia/tokyo", "../Asia/Tokyo", "Asia/Nowhere"} {
		if _, err := Zone(name); err == nil || !strings.Contains(err.Error(), "is unknown: use a region") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestZonesOfTheMachine checks finding 14.4: neither $ZONEINFO nor $TZ nor the system's files change the meaning of a
// zone. It checks this in a separate process, in whose $ZONEINFO Tokyo is New York.
func TestZonesOfTheMachine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	if os.Getenv("ZONES_OF_THE_MACHINE") != "" {
		ours, err := Zone("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		machine, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("ours %s, the machine's %s\n", at.In(ours).Format(time.RFC3339), at.In(machine).Format(time.RFC3339))
		return
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "Asia"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := regions()["America/New_York"].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rules, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "Asia", "Tokyo"), rules, 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestZonesOfTheMachine$", "-test.v")
	c.Env = append(os.Environ(), "ZONES_OF_THE_MACHINE=1", "ZONEINFO="+folder, "TZ=America/New_York")
	out, err := c.CombinedOutput()
	if want := "ours 2026-07-01T09:00:00+09:00, the machine's 2026-06-30T20:00:00-04:00"; err != nil || !strings.Contains(string(out), want) {
		t.Errorf("want %q: %v\n%s", want, err, out)
	}
}

func BenchmarkZone(b *testing.B) {
	for b.Loop() {
		if _, err := Zone("Asia/Tokyo"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLastDaysOfYears checks that a local time at the end of a year is found in every region, including leap years, in
// which Go's bounds are a day short if the year is described only by a rule.
func TestLastDaysOfYears(t *testing.T) {
	t.Parallel()
	n := 0
	for name := range regions() {
		if strings.HasSuffix(name, "/") {
			continue
		}
		zone, err := region(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, year := range []int{2024, 2027, 2028, 2040, 2100, 2400} {
			for hour := range 72 {
				want := time.Date(year, 12, 30, hour, 30, 0, 0, time.UTC)
				if got := Local(want, zone); got.Format(time.DateTime) != want.Format(time.DateTime) {
					t.Errorf("%s: %s is %s", name, want.Format(time.DateTime), got)
				}
				n++
			}
		}
	}
	if n < 100_000 {
		t.Errorf("%d times were looked at", n)
	}
}
