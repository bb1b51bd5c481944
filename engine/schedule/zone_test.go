package schedule_test

import (
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

func TestZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)
	for name, want := range map[string]int{
		"UTC": 0, "Z": 0, "GMT": 0, "UT": 0, "GMT0": 0, "Etc/UTC": 0, "+09:00": 9 * 3600, "+9": 9 * 3600, "+09": 9 * 3600,
		"+0900": 9 * 3600, "-03:30": -12600, "+01:02:03": 3723, "+010203": 3723, "UTC+9": 9 * 3600, "GMT-03:00": -10800,
		"UT+00:30": 1800, "+18:00": 64800, "-18": -64800, "Asia/Tokyo": 9 * 3600, "America/New_York": -4 * 3600,
		"Asia/Kathmandu": 20700, "EST5EDT": -4 * 3600, "CET": 7200, "Japan": 9 * 3600, "Etc/GMT+5": -5 * 3600,
	} {
		zone, err := schedule.Zone(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, got := at.In(zone).Zone(); got != want {
			t.Errorf("%s: %d seconds, want %d", name, got, want)
		}
	}
	for _, name := range []string{"", "Mars/Phobos", "EST", "MST", "HST", "JST", "PST", "asia/tokyo", "utc", "z", "Local", "+", "+9:00",
		"+1900", "+18:01", "+09:60", "+9:0", "+-9", "+090", "UTC+", "UTC+99", "GMT+0x", "../UTC", "/etc/passwd", "Asia", " UTC", "Asia/Tokyo "} {
		_, err := schedule.Zone(name)
		if _, ok := err.(*param.ConfigError); !ok || !strings.Contains(err.Error(), "use a region like") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestSLA(t *testing.T) {
	t.Parallel()
	const run = "2024-03-10T04:30:15Z" // 2024-03-09 23:30:15 in New York, before the clocks change
	for _, c := range []struct{ config, run, due string }{
		{`{"duration":"00:00:02"}`, run, "2024-03-10T04:30:17Z"},
		{`{"duration":"01:30"}`, run, "2024-03-10T06:00:15Z"},
		{`{"time":"23:45"}`, run, "2024-03-09T23:45:00-05:00"},
		{`{"time":"23:30:15"}`, run, run},
		{`{"time":"02:00"}`, run, "2024-03-10T03:00:00-04:00"}, // 24 hours later, not the next day's 02:00
		{`{"time":"02:30"}`, "2024-03-10T05:00:00Z", "2024-03-10T03:30:00-04:00"},
		{`{"time":"01:30"}`, "2024-11-03T04:00:00Z", "2024-11-03T01:30:00-05:00"},
		{`{"time":"25:00"}`, run, "2024-03-10T01:00:00-05:00"},
	} {
		s, err := schedule.ParseSLA(mustMap(t, c.config))
		if err != nil {
			t.Errorf("%s: %v", c.config, err)
			continue
		}
		if got, want := s.Due(mustTime(t, c.run), mustZone(t, "America/New_York")), mustTime(t, c.due); !got.Equal(want) {
			t.Errorf("%s from %s: %v, want %v", c.config, c.run, got, want)
		}
	}
}

func TestSLAOptions(t *testing.T) {
	t.Parallel()
	s, err := schedule.ParseSLA(mustMap(t, `{"time":"1:00","alert":"false","fail":true,"+notice":{"echo>":"late"}}`))
	if err != nil || s.Alert || !s.Fail || param.Text(s.Tasks) != `{"+notice":{"echo>":"late"}}` {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := schedule.ParseSLA(mustMap(t, `{"duration":"1:00"}`)); err != nil || !s.Alert || s.Fail || s.Tasks.Len() != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := schedule.ParseSLA(mustMap(t, `{"duration":"1:00","alert":"perhaps","fail":"perhaps"}`)); err != nil || !s.Alert || s.Fail {
		t.Errorf("what is neither true nor false: %+v, %v", s, err)
	}
	for config, want := range map[string]string{
		`{}`:                                "SLA must be specified using either the 'time' or 'duration' option",
		`{"time":"1:00","duration":"1:00"}`: "SLA must be specified using either the 'time' or 'duration' option",
		`{"time":"1"}`:                      "SLA time option needs to be HH:MM or HH:MM:SS format: 1",
		`{"duration":"a:b"}`:                "SLA duration option needs to be HH:MM or HH:MM:SS format: a:b",
		`{"duration":"1:2:3:4"}`:            "SLA duration option needs to be HH:MM or HH:MM:SS format: 1:2:3:4",
	} {
		if _, err := schedule.ParseSLA(mustMap(t, config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", config, err)
		}
	}
}

func mustMap(t *testing.T, text string) *param.Map {
	t.Helper()
	v, err := param.ParseJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*param.Map)
}

// TestStartOfDay checks that a day begins with its first midnight, or after the gap if it has no midnight.
func TestStartOfDay(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ zone, day, want string }{
		{"America/Havana", "2024-11-03", "2024-11-03T04:00:00Z"}, // the first of two midnights
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"},
		{"Asia/Tokyo", "2024-02-29", "2024-02-28T15:00:00Z"},
	} {
		zone, err := schedule.Zone(row.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, err := time.Parse(time.DateOnly, row.day)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.StartOfDay(day.Year(), day.Month(), day.Day(), zone).UTC().Format(time.RFC3339); got != row.want {
			t.Errorf("%s in %s begins at %s, want %s", row.day, row.zone, got, row.want)
		}
	}
}

// TestLocal checks that local times that do not exist, or exist twice, are read as schedules read them.
func TestLocal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ zone, local, want string }{
		{"America/New_York", "2024-03-10T01:59:59", "2024-03-10T06:59:59Z"},
		{"America/New_York", "2024-03-10T02:30:00", "2024-03-10T07:30:00Z"}, // in the gap
		{"America/New_York", "2024-03-10T03:00:00", "2024-03-10T07:00:00Z"},
		{"America/New_York", "2024-11-03T01:30:00", "2024-11-03T06:30:00Z"}, // the second of two
		{"America/New_York", "2024-11-03T02:00:00", "2024-11-03T07:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04T00:00:00", "2018-11-04T03:00:00Z"}, // no midnight
		{"Pacific/Apia", "2011-12-30T12:00:00", "2011-12-30T22:00:00Z"},      // no such day
		{"Asia/Tokyo", "2024-02-29T12:34:56.789", "2024-02-29T03:34:56.789Z"},
	} {
		zone, err := schedule.Zone(row.zone)
		if err != nil {
			t.Fatal(err)
		}
		local, err := time.Parse("2006-01-02T15:04:05", row.local)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Local(local, zone).UTC().Format(time.RFC3339Nano); got != row.want {
			t.Errorf("%s in %s is %s, want %s", row.local, row.zone, got, row.want)
		}
	}
}
