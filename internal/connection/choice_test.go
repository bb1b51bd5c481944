package connection

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/client"
	"zerodag/internal/configuration"
	"zerodag/internal/program"
)

// TestWhichServer checks which sources decide which server is used, and in which order.
func TestWhichServer(t *testing.T) {
	t.Setenv("ZERODAG_CONFIG_HOME", t.TempDir())
	for _, s := range []*Server{{Name: "used", Endpoint: "http://used"}, {Name: "named", Endpoint: "http://named"}} {
		if err := s.Save(); err != nil {
			t.Fatal(err)
		}
	}
	configured := configuration.Settings{configuration.EndpointKey: "http://configured"}
	both := map[string]string{"ZERODAG_ENDPOINT": "http://env", "ZERODAG_CONTEXT": "named"}
	check := func(what string, c Choice, env map[string]string, want string) {
		t.Helper()
		got, named, err := c.server(func(name string) string { return env[name] }, io.Discard)
		if err != nil || got != want || (named != nil) != (want == "http://used" || want == "http://named") {
			t.Errorf("%s: %s of %v, %v, want %s", what, got, named, err, want)
		}
	}
	check("nothing at all", Choice{}, nil, "")
	check("the configuration", Choice{Settings: configured}, nil, "http://configured")
	used, err := Load("used")
	if err != nil {
		t.Fatal(err)
	}
	if err := used.Use(); err != nil {
		t.Fatal(err)
	}
	check("the context in use", Choice{Settings: configured}, nil, "http://used")
	check("a configuration that was named", Choice{Settings: configured, Flags: configuration.Flags{Config: "file"}}, nil, "http://configured")
	check("-X", Choice{Settings: configured, Flags: configuration.Flags{System: []string{configuration.EndpointKey + "=http://configured"}}}, nil, "http://configured")
	check("a configuration that names none", Choice{Flags: configuration.Flags{Config: "file"}}, nil, "http://used")
	check("a context of the environment", Choice{Settings: configured}, map[string]string{"ZERODAG_CONTEXT": "named"}, "http://named")
	check("an address of the environment", Choice{Settings: configured}, both, "http://env")
	check("--context", Choice{Context: "named"}, both, "http://named")
	check("--endpoint", Choice{Endpoint: "http://flag"}, both, "http://flag")
	if _, _, err := (&Choice{Endpoint: "x", Context: "y"}).server(func(string) string { return "" }, io.Discard); !program.IsUsageError(err) {
		t.Errorf("two servers: %v", err)
	}
	if _, _, err := (&Choice{Context: "gone"}).server(func(string) string { return "" }, io.Discard); err == nil || !strings.Contains(err.Error(), "existing contexts: named, used") {
		t.Errorf("a context that there is not: %v", err)
	}
	if err := Forget("used"); err != nil {
		t.Fatal(err)
	}
	check("after the context in use is gone", Choice{Settings: configured}, nil, "http://configured")
}

// TestHeaders proves that headers from the command line override headers from the configuration, and that an invalid
// header is a command-line error.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := configuration.Settings{"client.http.headers.X-A": "1", "client.http.headers.X-B": "2"}
	header, err := (&Choice{Settings: s, Headers: []string{"X-B=3,X-C=a=b"}}).allHeaders(access{token: "t"})
	if diff := cmp.Diff(http.Header{"X-A": {"1"}, "X-B": {"3"}, "X-C": {"a=b"}, "Authorization": {"Bearer t"}}, header); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	header = http.Header{}
	if err := AddHeaders(header, nil, "user:pass:word"); err != nil || header.Get("Authorization") != "Basic dXNlcjpwYXNzOndvcmQ=" {
		t.Errorf("%v, %v", header, err)
	}
	for _, c := range []struct {
		headers []string
		auth    string
	}{{[]string{"X"}, ""}, {[]string{"=1"}, ""}, {nil, "user"}, {nil, ":word"}, {nil, "user:"}} {
		if err := AddHeaders(http.Header{}, c.headers, c.auth); !program.IsUsageError(err) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// answering returns a client for a server that responds to each path with some text.
func answering(t *testing.T, answers map[string]string) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := answers[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		if !known {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestCheckVersion proves that an incompatible server ends a command, that a server that recommends a newer client
// stops an interactive user and warns a script, and that no request is made if the check is off.
func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer, mode  string
		warns         string
		wrong         string
		noCheck, dead bool
	}{
		{answer: `{"serverVersion":"1","upgradeRecommended":false,"apiCompatible":true}`},
		{answer: `{"serverVersion":"1","upgradeRecommended":true,"apiCompatible":false}`, wrong: "not API compatible to the server (client: "},
		{answer: `{"serverVersion":"1","upgradeRecommended":true,"apiCompatible":true}`, warns: "warning: This client version is obsoleted"},
		{answer: `{"serverVersion":"1","upgradeRecommended":true,"apiCompatible":true}`, mode: "batch", warns: "server: 1)"},
		{answer: `{"serverVersion":"1","upgradeRecommended":true,"apiCompatible":true}`, mode: "interactive", wrong: "It is recommended to upgrade"},
		{answer: `{"serverVersion":"1","upgradeRecommended":true,"apiCompatible":true}`, mode: "loud", wrong: "must be batch or interactive"},
		{answer: "<html>", wrong: "answer"},
		{answer: "<html>", noCheck: true},
	} {
		var warned strings.Builder
		choice := Choice{NoCheck: c.noCheck, Settings: configuration.Settings{"io.digdag.cli.versionCheckMode": c.mode}}
		err := choice.CheckVersion(t.Context(), answering(t, map[string]string{"/api/version/check": c.answer}), strings.NewReader(""), &warned)
		if (err == nil) != (c.wrong == "") || err != nil && c.wrong != "answer" && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s %s: %v, want %q", c.answer, c.mode, err, c.wrong)
		}
		if (warned.Len() > 0) != (c.warns != "") || !strings.Contains(warned.String(), c.warns) {
			t.Errorf("%s %s: %q", c.answer, c.mode, warned.String())
		}
	}
}

// TestExplain proves that errors about missing names and numbers are explained, that unknown errors are not, and that
// hostile responses change nothing.
func TestExplain(t *testing.T) {
	t.Parallel()
	api := answering(t, map[string]string{
		"/api/projects": `{"projects":[{"id":"1","name":"sales"},{"id":"2","name":"books"}]}`, "/api/projects/1/workflows": `{"workflows":[{"id":"1","name":"load"},{"id":"2","name":"daily"}]}`,
		"/api/attempts/7/tasks": `{"tasks":[{"id":"1","fullName":"+w"},{"id":"2","fullName":"+w+load"}]}`, "/api/projects/3/revisions": `{"revisions":[{"revision":"v3"},{"revision":"v2"}]}`,
	})
	status := func(body string, unknown client.Unknown) error {
		return &client.StatusError{Status: http.StatusNotFound, Body: body, Unknown: unknown}
	}
	said := func(message string) error { return status(`{"message":"`+message+`"}`, client.Unknown{}) }
	for _, c := range []struct {
		err     error
		attempt string
		want    string // "": nothing is added
	}{
		{status("{}", client.Unknown{Kind: "project", Name: "sale"}), "", "did you mean sales? `zerodag projects` lists the projects"},
		{status("{}", client.Unknown{Kind: "project", Name: "quite other"}), "", "`zerodag projects` lists the projects"},
		{status("{}", client.Unknown{Kind: "workflow", Name: "load.dig", Project: "1"}), "", "on a server, use the name of the workflow, not its file: load"},
		{status("{}", client.Unknown{Kind: "workflow", Name: "laod", Project: "9"}), "", "`zerodag workflows` lists the workflows"},
		{status("{}", client.Unknown{Kind: "schedule", Name: "load", Project: "1"}), "", "load has no `schedule:`"},
		{said("Resource does not exist: session attempt id=9"), "", "`zerodag attempts` lists the attempts with their ids"},
		{said("Resource does not exist: token id=9"), "", "`zerodag tokens list` lists the tokens"},
		{said("Resource does not exist: pool name=x"), "", "`zerodag pool list` lists the pools"},
		{said("Resource does not exist: revision name=v22 in project id=3"), "", "hint: did you mean v2?"},
		{said("Resource does not exist: revision name=quite in project id=3"), "", "its revisions are v3, v2"},
		{said("Task pattern 'laod' doesn't match"), "7", "did you mean +load? `zerodag tasks 7` lists them"},
		{said("Task pattern 'laod' doesn't match"), "", ""},
		{said("Task pattern 'laod' doesn't match"), "8", ""},
		{said("Parameter 'sla' must be an object"), "", "write `sla: {duration:"},
		{said("There are no sessions in that time"), "", "`zerodag schedules` shows"},
		{said("something else"), "", ""},
		{said("\x1b[2J id="), "", ""},
		{io.ErrUnexpectedEOF, "", ""},
		{nil, "", ""},
	} {
		got := Explain(t.Context(), api, c.err, c.attempt)
		switch {
		case c.want == "" && got != c.err:
			t.Errorf("%v became %v", c.err, got)
		case c.want != "" && (got == nil || !strings.Contains(got.Error(), "\nhint: ") || !strings.Contains(got.Error(), c.want)):
			t.Errorf("%v: %v, want %q", c.err, got, c.want)
		}
	}
	if got := Explain(t.Context(), nil, said("x"), ""); got == nil {
		t.Error("without a client an error is lost")
	}
}
