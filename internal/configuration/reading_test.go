package configuration

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestReadingValues checks which values each kind accepts, and that an invalid value causes an error that names the key
// and the expected form.
func TestReadingValues(t *testing.T) {
	t.Parallel()
	const key = "some.key"
	number := func(r *Reading) any { return r.Number(key, 7) }
	port := func(r *Reading) any { return r.Port(key, 7) }
	truth := func(r *Reading) any { return r.Bool(key, true) }
	word := func(r *Reading) any { return r.OneOf(key, "one", "two", "three") }
	seconds := func(r *Reading) any { return r.Seconds(key, 7*time.Second) }
	duration := func(r *Reading) any { return r.Duration(key, time.Minute) }
	keep := func(r *Reading) any { return r.Keep(key, time.Hour) }
	size := func(r *Reading) any { return r.Size(key) }
	text := func(r *Reading) any { return r.Text(key, "none") }
	for _, c := range []struct {
		read  func(*Reading) any
		value string
		want  any
		wrong string
	}{
		{number, "", 7, ""}, {number, " 12 ", 12, ""}, {number, "0", 0, ""}, {number, "-1", nil, "a whole number"}, {number, "1.5", nil, "a whole number"}, {number, "99999999999999999999", nil, "a whole number"},
		{port, "", 7, ""}, {port, "65535", 65535, ""}, {port, "65536", nil, "a port, at most 65535,"},
		{truth, "", true, ""}, {truth, "FALSE", false, ""}, {truth, "true", true, ""}, {truth, "yes", nil, "true or false"},
		{word, "", "one", ""}, {word, "three", "three", ""}, {word, "One", nil, "one, two or three"},
		{seconds, "", 7 * time.Second, ""}, {seconds, "90", 90 * time.Second, ""}, {seconds, "1m", nil, "a whole number"},
		{duration, "", time.Minute, ""}, {duration, "1d 2h", 26 * time.Hour, ""}, {duration, "soon", nil, "a duration like"},
		{keep, "", time.Hour, ""}, {keep, "90d", 90 * 24 * time.Hour, ""}, {keep, "forever", time.Duration(0), ""}, {keep, "0", nil, `a duration like "90d", or "forever"`}, {keep, "0d", nil, "a duration like"},
		{size, "", int64(0), ""}, {size, "2k", int64(2048), ""}, {size, "2", nil, "a size with its unit"},
		{text, " ", "none", ""}, {text, " a b ", "a b", ""}, {text, "\x1b[2J", "\x1b[2J", ""},
	} {
		r := Settings{key: c.value}.Reading()
		got := c.read(r)
		switch {
		case c.wrong != "" && (r.Err == nil || !strings.Contains(r.Err.Error(), "configuration key some.key must be "+c.wrong)):
			t.Errorf("%q: %v, want %q", c.value, r.Err, c.wrong)
		case c.wrong == "" && (r.Err != nil || got != c.want):
			t.Errorf("%q: %v, %v, want %v", c.value, got, r.Err, c.want)
		}
		if diff := cmp.Diff([]string{key}, r.Known()); diff != "" {
			t.Errorf("%q: %s", c.value, diff)
		}
	}
}

// TestFirstWrongValue proves that the first error is kept, whichever later values are invalid.
func TestFirstWrongValue(t *testing.T) {
	t.Parallel()
	r := Settings{"a": "x", "b": "y"}.Reading()
	r.Number("a", 0)
	r.Number("b", 0)
	r.Fail(strings.NewReader("").UnreadByte())
	if r.Err == nil || !strings.Contains(r.Err.Error(), "key a ") {
		t.Errorf("%v", r.Err)
	}
}

// TestUnread checks which keys a log warns about: unused keys that resemble one of the server's settings, but not keys
// for clients, parameters and secrets, whose values are never shown.
func TestUnread(t *testing.T) {
	t.Parallel()
	r := Settings{"a": "1", "b.c": "2", "b.": "3", "archive.type": "s3", "database.type": "h2", "client.http.endpoint": "x", "params.p": "x", "secrets.s": "secret", "z": ""}.Reading()
	r.Text("a", "")
	if diff := cmp.Diff(map[string]string{"c": "2"}, r.Tree("b.")); diff != "" {
		t.Error(diff)
	}
	if got := r.Here("archive.type", "local", "db"); got != "local" {
		t.Errorf("the archive is in %s", got)
	}
	if got := r.Here("database.type", "sqlite", "h2"); got != "h2" {
		t.Errorf("the database is %s", got)
	}
	if diff := cmp.Diff([]string{"archive.type = s3 (it is kept on this machine)", "b.", "z"}, r.Unread()); diff != "" {
		t.Error(diff)
	}
}

// TestStayHere proves that a place that this machine does not have is refused with an error that names the key, the
// consequence and the remedy, that secret values are hidden, and that the administrator may accept the place.
func TestStayHere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s      Settings
		shares bool
		only   []string
		want   []string // nil: nothing is refused
	}{
		{s: Settings{"agent.command_executor.type": "docker", "database.type": "h2", "archive.type": "db", "log-server.type": " null "}},
		{s: Settings{"agent.command_executor.type": "kubernetes"}, want: []string{"agent.command_executor.type = kubernetes: commands would be processes"}},
		{s: Settings{"agent.command_executor.ecs.a.access_key": "AKIA", "agent.command_executor.ecs.b": "1"}, want: []string{"ecs.a.access_key = ****: commands would not run in ECS"}},
		{s: Settings{"database.type": "postgresql"}, want: []string{"database.type = postgresql"}},
		{s: Settings{"database.type": "postgresql", "archive.type": "s3", "log-server.type": "db"}, shares: true},
		{s: Settings{"database.type": "mysql"}, shares: true, want: []string{"database.type = mysql"}},
		{s: Settings{"database.type": "postgresql", "param_server.type": "redis"}, only: ExecutorPlaces},
	} {
		err := c.s.StayHere(false, c.shares, c.only...)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%v: %v", c.s, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "AKIA") || strings.Count(err.Error(), "\n") != 2 {
				t.Errorf("%v: %v, want %q", c.s, err, want)
			}
		}
		if err := c.s.StayHere(true, c.shares, c.only...); err != nil {
			t.Errorf("%v, accepted: %v", c.s, err)
		}
	}
}

// TestProfiled proves that a server for several users has special defaults, which explicit settings override, and that
// a server that runs commands only in docker counts as such a server.
func TestProfiled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s      Settings
		shared bool
	}{
		{Settings{}, false},
		{Settings{"security.profile": "own", "agent.command_executor.allow": "docker"}, false},
		{Settings{"agent.command_executor.allow": "docker, process"}, false},
		{Settings{"agent.command_executor.allow": " docker "}, true},
		{Settings{"security.profile": "shared"}, true},
	} {
		c.s["agent.command_executor.limits.timeout"], c.s["agent.command_executor.ceilings.output"] = "2h", " "
		got, err := c.s.Profiled()
		if err != nil {
			t.Errorf("%v: %v", c.s, err)
			continue
		}
		if got["agent.command_executor.limits.timeout"] != "2h" || got["security.profile"] != c.s["security.profile"] {
			t.Errorf("%v: what was said is lost: %v", c.s, got)
		}
		if is := got["security.local_addresses"] == "false" && got["agent.command_executor.ceilings.output"] == "1g"; is != c.shared {
			t.Errorf("%v: %v", c.s, got)
		}
		if network := got.Reading().Network(); (network != nil) != c.shared {
			t.Errorf("%v: tasks connect by %v", c.s, network)
		}
	}
	if _, err := (Settings{"security.profile": "public"}).Profiled(); err == nil {
		t.Error("a profile that there is not is accepted")
	}
}
