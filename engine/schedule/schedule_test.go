package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := schedule.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func mustParse(t testing.TB, zone string, pairs ...param.Value) *schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(param.New(pairs...), mustZone(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustTime(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestVectors compares the rules with times from Digdag's own tests (language.md 1.10).
func TestVectors(t *testing.T) {
	t.Parallel()
	const la = "America/Los_Angeles"
	march := []param.Value{"start", "2016-03-01", "end", "2016-03-31"}
	for _, c := range []struct {
		kind, at, zone, call, ref, time, run string
		more                                 []param.Value
	}{
		{"daily>", "10:00:00", "UTC", "first", "2016-02-03T09:34:12Z", "2016-02-03T00:00:00Z", "2016-02-03T10:00:00Z", nil},
		{"daily>", "10:00:00", "UTC", "first", "2016-02-03T10:00:00Z", "2016-02-03T00:00:00Z", "2016-02-03T10:00:00Z", nil},
		{"daily>", "10:00:00", "UTC", "first", "2016-02-03T10:00:01Z", "2016-02-04T00:00:00Z", "2016-02-04T10:00:00Z", nil},
		{"daily>", "00:00:00", "UTC", "first", "2016-03-13T00:00:00Z", "2016-03-13T00:00:00Z", "2016-03-13T00:00:00Z", nil},
		{"daily>", "10:00:00", la, "first", "2016-03-13T09:00:00-07:00", "2016-03-13T00:00:00-08:00", "2016-03-13T11:00:00-07:00", nil},
		{"daily>", "10:00:00", la, "first", "2016-03-13T16:31:03-07:00", "2016-03-14T00:00:00-07:00", "2016-03-14T10:00:00-07:00", nil},
		{"daily>", "10:00:00", la, "next", "2016-03-13T00:00:00-08:00", "2016-03-14T00:00:00-07:00", "2016-03-14T10:00:00-07:00", nil},
		{"daily>", "05:00:00", la, "last", "2016-03-14T00:00:00-07:00", "2016-03-13T00:00:00-08:00", "2016-03-13T06:00:00-07:00", nil},
		{"daily>", "10:00:00", la, "last", "2016-09-13T12:34:56-07:00", "2016-09-13T00:00:00-07:00", "2016-09-13T10:00:00-07:00", nil},
		{"daily>", "10:11:23", la, "next", "2016-03-02T12:34:56-08:00", "2016-03-03T00:00:00-08:00", "2016-03-03T10:11:23-08:00", nil},
		{"daily>", "10:00:00", "UTC", "first", "2016-02-03T09:59:59Z", "2016-03-01T00:00:00Z", "2016-03-01T10:00:00Z", march},
		{"daily>", "10:00:00", "UTC", "first", "2016-03-31T10:00:00Z", "2016-03-31T00:00:00Z", "2016-03-31T10:00:00Z", march},
		{"daily>", "10:00:00", "UTC", "first", "2016-03-31T10:00:01Z", "9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z", march},
		{"daily>", "10:00:00", "Asia/Tokyo", "last", "2016-04-02T00:00:00+09:00", "2016-04-01T00:00:00+09:00", "2016-04-01T10:00:00+09:00", march},
		{"daily>", "10:00:00", "Asia/Tokyo", "last", "2016-02-29T00:00:00+09:00", "2016-02-28T00:00:00+09:00", "2016-02-28T10:00:00+09:00", march},
		{"hourly>", "15:00", "UTC", "first", "2016-02-03T17:14:59Z", "2016-02-03T17:00:00Z", "2016-02-03T17:15:00Z", nil},
		{"hourly>", "15:00", "UTC", "first", "2016-02-03T17:15:00Z", "2016-02-03T17:00:00Z", "2016-02-03T17:15:00Z", nil},
		{"hourly>", "15:00", "UTC", "first", "2016-02-03T17:15:01Z", "2016-02-03T18:00:00Z", "2016-02-03T18:15:00Z", nil},
		{"hourly>", "15:00", la, "first", "2016-03-13T01:59:00-08:00", "2016-03-13T03:00:00-07:00", "2016-03-13T03:15:00-07:00", nil},
		{"hourly>", "15:00", la, "next", "2016-03-13T01:00:00-08:00", "2016-03-13T03:00:00-07:00", "2016-03-13T03:15:00-07:00", nil},
		{"hourly>", "15:00", la, "last", "2016-03-13T00:00:45-08:00", "2016-03-13T00:00:00-08:00", "2016-03-13T00:15:00-08:00", nil},
		{"hourly>", "15:00", "UTC", "first", "2016-03-31T23:15:00Z", "2016-03-31T23:00:00Z", "2016-03-31T23:15:00Z", march},
		{"hourly>", "15:00", "UTC", "first", "2016-03-31T23:15:01Z", "9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z", march},
		{"weekly>", "Wed,17:15:00", "UTC", "first", "2016-02-03T17:15:01Z", "2016-02-10T00:00:00Z", "2016-02-10T17:15:00Z", nil},
		{"weekly>", "Wed,17:15:00", "UTC", "next", "2016-02-02T00:00:00Z", "2016-02-03T00:00:00Z", "2016-02-03T17:15:00Z", nil},
		{"weekly>", "Wed,17:15:00", "UTC", "next", "2016-02-03T00:00:00Z", "2016-02-10T00:00:00Z", "2016-02-10T17:15:00Z", nil},
		{"weekly>", "Sun,15:00:00", la, "first", "2016-03-13T01:59:00-08:00", "2016-03-13T00:00:00-08:00", "2016-03-13T16:00:00-07:00", nil},
		{"weekly>", "1-5,00:00:00", "UTC", "next", "2024-03-08T00:00:00Z", "2024-03-11T00:00:00Z", "2024-03-11T00:00:00Z", nil},
		{"monthly>", "1,12:00:00", "UTC", "first", "2016-02-01T12:00:01Z", "2016-03-01T00:00:00Z", "2016-03-01T12:00:00Z", nil},
		{"monthly>", "31,12:00:00", "UTC", "first", "2016-01-31T19:12:34Z", "2016-03-31T00:00:00Z", "2016-03-31T12:00:00Z", nil},
		{"monthly>", "31,12:00:00", "UTC", "first", "2016-05-31T19:12:34Z", "2016-07-31T00:00:00Z", "2016-07-31T12:00:00Z", nil},
		{"monthly>", "1,12:00:00", la, "last", "2016-04-01T00:00:00-07:00", "2016-03-01T00:00:00-08:00", "2016-03-01T12:00:00-08:00", nil},
		{"minutes_interval>", "10", "UTC", "first", "2016-02-03T17:20:01Z", "2016-02-03T17:30:00Z", "2016-02-03T17:30:00Z", nil},
		{"minutes_interval>", "7", "UTC", "first", "2016-02-03T00:57:12Z", "2016-02-03T01:00:00Z", "2016-02-03T01:00:00Z", nil},
		{"minutes_interval>", "7", "UTC", "last", "2016-02-03T00:00:00Z", "2016-02-02T23:56:00Z", "2016-02-02T23:56:00Z", nil},
		{"minutes_interval>", "7", "UTC", "last", "2016-02-03T00:56:00Z", "2016-02-03T00:49:00Z", "2016-02-03T00:49:00Z", nil},
		{"minutes_interval>", "10", la, "next", "2016-03-13T01:50:00-08:00", "2016-03-13T03:00:00-07:00", "2016-03-13T03:00:00-07:00", nil},
		{"minutes_interval>", "10", "Asia/Tokyo", "first", "2016-03-31T23:59:59+09:00", "9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z", march},
		{"cron>", "00 10 * * *", la, "first", "2016-03-13T01:59:59-08:00", "2016-03-13T10:00:00-07:00", "2016-03-13T10:00:00-07:00", nil},
		{"cron>", "00 10 * * *", la, "next", "2016-03-12T10:00:00-08:00", "2016-03-13T10:00:00-07:00", "2016-03-13T10:00:00-07:00", nil},
		{"cron>", "0 0 * * 1-5", "UTC", "last", "2024-03-11T00:00:00Z", "2024-03-09T00:00:00Z", "2024-03-09T00:00:00Z", nil},
		{"cron>", "0 0 1,30 * *", "UTC", "next", "2023-02-10T00:00:00Z", "2023-03-30T00:00:00Z", "2023-03-30T00:00:00Z", nil},
		{"cron>", "0 0 * * 0-7", "UTC", "next", "2024-03-04T00:00:00Z", "2024-03-10T00:00:00Z", "2024-03-10T00:00:00Z", nil},
		{"cron>", "0 22-2/2 * * *", "UTC", "next", "2024-03-04T22:00:00Z", "2024-03-05T00:00:00Z", "2024-03-05T00:00:00Z", nil},
		{"daily>", "00:00:00", "America/Sao_Paulo", "next", "2018-11-03T12:00:00Z", "2018-11-04T01:00:00-02:00", "2018-11-04T01:00:00-02:00", nil},
		{"hourly>", "00:00", "America/New_York", "next", "2024-11-03T00:59:00-04:00", "2024-11-03T01:00:00-04:00", "2024-11-03T01:00:00-04:00", nil},
		{"seconds_interval>", "30", "UTC", "last", "2024-03-11T00:00:00Z", "2024-03-10T23:59:30Z", "2024-03-10T23:59:30Z", nil},
	} {
		t.Run(strings.Join([]string{c.kind, c.at, c.zone, c.call, c.ref}, " "), func(t *testing.T) {
			t.Parallel()
			s := mustParse(t, c.zone, append([]param.Value{c.kind, c.at}, c.more...)...)
			call := map[string]func(time.Time) schedule.Time{"first": s.First, "next": s.Next, "last": s.Last}[c.call]
			got := call(mustTime(t, c.ref))
			want := schedule.Time{Time: mustTime(t, c.time), RunTime: mustTime(t, c.run)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got.IsEnded() != strings.HasPrefix(c.time, "9999") {
				t.Errorf("IsEnded is %v", got.IsEnded())
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, want string }{
		{`{}`, "Schedule config requires 'type>: at' parameter: {}"},
		{`{"start":"2024-01-01"}`, "Schedule config requires 'type>: at' parameter"},
		{`{"yearly>":1}`, "Unknown scheduler type: yearly"},
		{`{"daily>":"00:00:00","foo":1}`, "Parameter 'foo' is not used at schedule. \n"},
		{`{"daily>":"00:00:00","skip_on_over_time":true}`, "Parameter 'skip_on_over_time' is not used at schedule. > Did you mean '[skip_on_overtime]'?"},
		{`{"daily>":"01:00:00","hourly>":"10:00"}`, "Parameter 'hourly>' is not used at schedule. "},
		{`{"daily>":"01:00:00","delay":1}`, "Parameter 'delay' is not used at schedule. "},
		{`{"daily>":"01:00:00","start":"2024-02-30"}`, "Invalid start: 2024-02-30 ("},
		{`{"daily>":"01:00:00","end":"soon"}`, "Invalid end: soon ("},
		{`{"daily>":"01:00:00","start":"2024-04-02","end":"2024-04-01"}`, "The schedule of end is earlier than start"},
		{`{"daily>":"01:00:00","skip_delayed_by":"soon"}`, "Invalid duration for key 'skip_delayed_by': soon"},
		{`{"daily>":null}`, "Parameter '_command' is required but not set"},
		{`{"hourly>":"10:11:12"}`, "hourly>: scheduler requires mm:ss format: 10:11:12"},
		{`{"monthly>":"L,00:00:00"}`, "monthly>: scheduler requires day,hh:mm:ss format: L,00:00:00"},
		{`{"weekly>":"-1,00:00:00"}`, "weekly>: invalid day: -1"},
		{`{"weekly>":"Funday,00:00:00"}`, "weekly>: scheduler requires day,hh:mm:ss format: Funday,00:00:00"},
		{`{"cron>":"61 * * * *"}`, `invalid pattern "61 * * * *". Error parsing minutes field: invalid field "61", invalid element "61", invalid range, invalid value "61", value out of range.`},
		{`{"cron>":"0 0 31 2 *"}`, `invalid pattern: "0 0 31 2 *" never matches`},
		{`{"cron>":"0 0 30 feb mon|0 0 31 4,6 *"}`, "never matches"},
		{`{"minutes_interval>":0}`, `non positive divisor "0"`},
		{`{"minutes_interval>":"x"}`, "Expected integer (int) type for key '_command'"},
		{`{"seconds_interval>":0}`, "seconds_interval>: must be a whole number of seconds above 0: 0"},
	} {
		t.Run(c.config, func(t *testing.T) {
			t.Parallel()
			config, err := param.ParseJSON(c.config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = schedule.Parse(config.(*param.Map), time.UTC)
			if _, ok := err.(*param.ConfigError); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "UTC", "_type", "daily", "_command", "01:00:00", "skip_on_overtime", "true", "skip_delayed_by", "1h 5s")
	if !s.SkipOnOvertime || !s.HasSkipDelayed || s.SkipDelayedBy != time.Hour+5*time.Second {
		t.Errorf("got %v %v %v", s.SkipOnOvertime, s.HasSkipDelayed, s.SkipDelayedBy)
	}
	s = mustParse(t, "UTC", "hourly>", nil, "at", "30:00")
	if got := s.First(mustTime(t, "2024-01-01T00:00:01Z")); !got.RunTime.Equal(mustTime(t, "2024-01-01T00:30:00Z")) || s.HasSkipDelayed {
		t.Errorf("got %v, %v", got, s.HasSkipDelayed)
	}
}

// TestAgainstRobfig compares the results with a second implementation for patterns that both dialects read alike.
func TestAgainstRobfig(t *testing.T) {
	t.Parallel()
	field := func(t *rapid.T, name string, low, high int) string {
		a, b := rapid.IntRange(low, high).Draw(t, name), rapid.IntRange(low, high).Draw(t, name+" to")
		digits := func(n int) string { return param.Text(int64(n)) }
		return rapid.SampledFrom([]string{"*", "*/" + digits(1+b), digits(a), digits(a) + "," + digits(b),
			digits(min(a, b)) + "-" + digits(max(a, b)), digits(min(a, b)) + "-" + digits(max(a, b)) + "/2"}).Draw(t, name+" form")
	}
	rapid.Check(t, func(t *rapid.T) {
		text := field(t, "minute", 0, 59) + " " + field(t, "hour", 0, 23) + " "
		if rapid.Bool().Draw(t, "by day") {
			text += field(t, "day", 1, 28) + " " + field(t, "month", 1, 12) + " *"
		} else {
			text += "* " + field(t, "month", 1, 12) + " " + field(t, "weekday", 0, 6)
		}
		if strings.HasSuffix(text, "*/7") {
			return // only cron4j has both 0 and 7
		}
		s, err := schedule.Parse(param.New("cron>", text), time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		other, err := cron.ParseStandard(text)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC()
		if got, want := s.Next(at).Time, other.Next(at); !got.Equal(want) {
			t.Errorf("%s after %v: %v, robfig says %v", text, at, got, want)
		}
	})
}

// FuzzParse checks that no pattern causes a panic in any zone, and that time advances.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"* * * * *", "0 0 29 2 1", "*/90 * * * *", "0 0 L * *|5 4 * 2-12/3 sun", "1-5/2,7 22-2 -5 dec 0-7", "59 23 31 12 7"} {
		f.Add(seed, "America/New_York", int64(1710000000))
		f.Add(seed, "Pacific/Apia", int64(1325100000))
	}
	f.Fuzz(func(t *testing.T, text, zoneName string, at int64) {
		zone, err := schedule.Zone(zoneName)
		if err != nil || at < -1e10 || at > 2e11 {
			return
		}
		s, err := schedule.Parse(param.New("cron>", text), zone)
		if err != nil {
			return
		}
		for last := time.Unix(at, 0); ; {
			next := s.Next(last)
			if !next.Time.After(last) {
				t.Fatalf("%q in %s: %v after %v", text, zoneName, next.Time, last)
			}
			if last = next.Time; next.IsEnded() || last.Unix() > at+86400 {
				break
			}
		}
	})
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct{ name, kind, at string }{
		{"hourly", "hourly>", "30:00"}, {"daily", "daily>", "02:30:00"}, {"weekly", "weekly>", "Mon,00:00:00"},
		{"monthly", "monthly>", "31,00:00:00"}, {"minutes", "minutes_interval>", "5"},
		{"leap days", "cron>", "0 0 29 2 *"}, {"friday 13", "cron>", "0 0 13 * 5"}, {"leap mondays", "cron>", "0 0 29 2 1"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := mustParse(b, "America/New_York", c.kind, c.at)
			start := mustTime(b, "2024-03-01T12:00:00Z")
			for at := start; b.Loop(); {
				if at = s.Next(at).Time; at.Year() > 2100 {
					at = start
				}
			}
		})
	}
}
