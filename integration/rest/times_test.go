package rest_test

import (
	"net/http"
	"net/url"
	"testing"
)

// TestSessionTimes checks how a session time is resolved: in the time zone of the workflow, to the hour or day, and to
// the first scheduled time not before it or after it.
func TestSessionTimes(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.must(http.MethodPut, "/api/projects?project=p&revision=r", archive(map[string]string{
		"wf.dig": "timezone: Asia/Tokyo\nschedule:\n  daily>: 07:00:00\n+a:\n  echo>: x\n"}))
	times := "/api/workflows/" + c.first("/api/workflows")["id"].(string) + "/truncated_session_time?"
	for _, want := range []struct{ text, mode, time string }{
		{"2024-03-09T05:06:07", "", "2024-03-09T05:06:07+09:00"},
		{"2024-03-09T05:06", "", "2024-03-09T05:06:00+09:00"},
		{"2024-03-09T05:06:07.89Z", "", "2024-03-09T14:06:07+09:00"},
		{"2024-03-09T05:06:07", "hour", "2024-03-09T05:00:00+09:00"},
		{"2024-03-08T20:06:07Z", "day", "2024-03-09T00:00:00+09:00"},
		{"2024-03-09T05:06:07", "schedule", "2024-03-09T00:00:00+09:00"},
		{"2024-03-09T08:00:00", "schedule", "2024-03-10T00:00:00+09:00"},
		{"2024-03-09T05:06:07", "next_schedule", "2024-03-10T00:00:00+09:00"},
		{"2024-03-09T00:00:00", "next_schedule", "2024-03-10T00:00:00+09:00"},
	} {
		query := "session_time=" + url.QueryEscape(want.text)
		if want.mode != "" {
			query += "&mode=" + want.mode
		}
		a := c.must(http.MethodGet, times+query, nil)
		if a["sessionTime"] != want.time || a["timezone"] != "Asia/Tokyo" {
			t.Errorf("%s %s: %v, want %s", want.text, want.mode, a, want.time)
		}
	}
	for _, query := range []string{"session_time=junk", "session_time=2024-03-09T05:06:07&mode=week", "session_time=2024-03-09T05:06:07&mode=", "session_time=2024-03-09"} {
		if a := c.call(http.MethodGet, times+query, nil); a.status != http.StatusNotFound || len(a.content) != 0 {
			t.Errorf("%s: %d %s, want an empty 404", query, a.status, a.content)
		}
	}
}
