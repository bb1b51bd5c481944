package serverconfig

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/host"
	"zerodag/internal/notice"
	"zerodag/internal/notice/mail"
)

// TestAlerts proves that routes and channels of every type are read, that secrets may be in files, and that no key is
// left unread.
func TestAlerts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("https://hooks.example.com/services/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const c = "alert.channels."
	s := configuration.Settings{
		"notification.type": "shell", "notification.shell.command": "true",
		c + "slack.type": "slack", c + "slack.url-file": file,
		c + "teams.type": "teams", c + "teams.url": "https://x/y",
		c + "discord.type": "discord", c + "discord.url": "https://x/y",
		c + "telegram.type": "telegram", c + "telegram.token": "1:a", c + "telegram.chat": "-100",
		c + "pager.type": "pagerduty", c + "pager.key": "k", c + "pager.api": "https://events.eu.pagerduty.com",
		c + "hook.type": "webhook", c + "hook.url": "https://x/y", c + "hook.method": "PUT", c + "hook.headers.A": "b", c + "hook.secret": "s",
		c + "script.type": "command", c + "script.command": "cat", c + "script.timeout": "5s",
		c + "topic.type": "sns", c + "topic.topic": "arn:aws:sns:eu-west-1:123456789012:t", c + "topic.credentials.access-key-id": "k", c + "topic.credentials.secret-access-key": "s", c + "topic.endpoint": "http://localhost:4566",
		c + "post.type": "mail", c + "post.host": "h", c + "post.from": "f@x", c + "post.to": "a@x, b@x", c + "post.password": "p", c + "post.port": "25",
		"alert.routes.a.channels": "slack, pager", "alert.routes.a.kinds": "failure,recovered", "alert.routes.a.projects": "shop* x", "alert.routes.a.workflows": "*", "alert.routes.a.sites": "0,2", "alert.routes.a.tags": "team=sales", "alert.routes.a.quiet": "1h",
		"alert.console":           "https://zerodag.example.com/",
		"alert.routes.b.channels": "teams discord telegram hook script topic post",
	}
	r := s.Reading()
	o, err := readNotices(r, nil)
	if err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	if unread := r.Unread(); len(unread) != 0 {
		t.Errorf("unread keys %v", unread)
	}
	var names []string
	for _, x := range o.Channels {
		names = append(names, x.Name+" "+x.Type)
		if x.Ordered != (x.Type == "pagerduty") {
			t.Errorf("%s is ordered: %v", x.Name, x.Ordered)
		}
		switch sender := x.Sender.(type) {
		case notice.HTTP:
			if sender.Secret != "s" || sender.Method != "PUT" || sender.Headers["A"] != "b" {
				t.Errorf("webhook %+v", sender)
			}
		case mail.Sender:
			if p, _ := sender.Server.Get("password"); p != "p" || sender.Subject(param.New("message", "m", "project_name", "p", "workflow_name", "w")) != "p/w: m" {
				t.Errorf("mail %+v", sender)
			}
		}
	}
	want := []string{"notification shell", "discord discord", "hook webhook", "pager pagerduty", "post mail", "script command", "slack slack", "teams teams", "telegram telegram", "topic sns"}
	if !slices.Equal(names, want) {
		t.Errorf("channels %q, want %q", names, want)
	}
	if o.Console != "https://zerodag.example.com" {
		t.Errorf("the console is %q", o.Console)
	}
	a := o.Routes[1]
	if len(o.Routes) != 3 || o.Routes[0].Name != notice.Default || a.Name != "a" || a.Quiet != time.Hour || !slices.Equal(a.Channels, []string{"slack", "pager"}) || !slices.Equal(a.Projects, []string{"shop*", "x"}) ||
		!slices.Equal(a.Sites, []int64{0, 2}) || !slices.Equal(a.Kinds, []host.NoticeKind{host.NoticeFailure, host.NoticeRecovered}) || a.Tags[0] != "team=sales" {
		t.Errorf("routes %+v", o.Routes)
	}
	if got := alertFiles(s); !slices.Equal(got, []string{file}) {
		t.Errorf("files that commands must not read: %q", got)
	}
}

// TestWrongAlerts proves that mistakes in channels and routes are refused at startup with advice, and that no error
// contains a secret.
func TestWrongAlerts(t *testing.T) {
	t.Parallel()
	const c = "alert.channels.ops."
	ok := configuration.Settings{c + "type": "slack", c + "url": "https://hooks.example.com/SECRET"}
	for want, more := range map[string]configuration.Settings{
		"unknown configuration key alert.quiet: write alert.channels.NAME.KEY or":                                       {"alert.quiet": "1h"},
		"alert.console must be a URL such as https://zerodag.example.com":                                               {"alert.console": "zerodag.example.com"},
		"unknown configuration key alert.channels.ops: write":                                                           {"alert.channels.ops": "slack"},
		`the name "o p" must have`:                                                                                      {"alert.channels.o p.type": "slack"},
		"the name notification belongs to":                                                                              {"alert.channels.notification.type": "slack"},
		"alert.channels.x.type is missing: use command, discord, mail, pagerduty, slack":                                {"alert.channels.x.url": "https://x"},
		`alert.channels.ops.type is "irc": use command`:                                                                 {c + "type": "irc"},
		"unknown configuration key alert.channels.ops.chanel: a channel of type slack has the keys type, url, url-file": {c + "chanel": "x"},
		"alert.channels.ops.url must be a URL that begins with https:// or http://":                                     {c + "url": "hooks.example.com/SECRET"},
		"alert.channels.ops.url and alert.channels.ops.url-file cannot be set together":                                 {c + "url-file": "x"},
		"alert.channels.x.url is missing: alert.channels.x.type is teams; write the value, or name a file":              {"alert.channels.x.type": "teams"},
		"alert.channels.x.url-file: open ":                                                                              {"alert.channels.x.type": "teams", "alert.channels.x.url-file": "/nonexistent/file"},
		"alert.channels.x.chat is missing: alert.channels.x.type is telegram":                                           {"alert.channels.x.type": "telegram", "alert.channels.x.token": "SECRET"},
		"alert.channels.x.topic must be the ARN of a topic":                                                             {"alert.channels.x.type": "sns", "alert.channels.x.topic": "t"},
		"alert.channels.x.credentials.access-key-id and .secret-access-key must be set together":                        {"alert.channels.x.type": "sns", "alert.channels.x.topic": "arn:aws:sns:eu-west-1:1:t", "alert.channels.x.credentials.secret-access-key": "SECRET"},
		"alert.channels.x.host is missing: alert.channels.x.type is mail":                                               {"alert.channels.x.type": "mail"},
		"alert.channels.x.to is missing":                                                                                {"alert.channels.x.type": "mail", "alert.channels.x.host": "h", "alert.channels.x.from": "f@x"},
		"alert.routes.r.channels is missing":                                                                            {"alert.routes.r.kinds": "sla"},
		"alert.routes.r.channels names the channel dev, which does not exist: set alert.channels.dev.type":              {"alert.routes.r.channels": "ops,dev"},
		"unknown configuration key alert.routes.r.project: a route has the keys channels, kinds":                        {"alert.routes.r.channels": "ops", "alert.routes.r.project": "x"},
		`alert.routes.r.kinds: unknown kind "failed": use failure, sla, slow, message, late, start_failed or recovered`: {"alert.routes.r.channels": "ops", "alert.routes.r.kinds": "failed"},
		`alert.routes.r.sites must be a list of site numbers but contains "x"`:                                          {"alert.routes.r.channels": "ops", "alert.routes.r.sites": "x"},
		`alert.routes.r.projects: the pattern "[" is malformed`:                                                         {"alert.routes.r.channels": "ops", "alert.routes.r.projects": "["},
		`alert.channels.x.timeout is 2m0s: use at most 1m30s`:                                                           {"alert.channels.x.type": "command", "alert.channels.x.command": "cat", "alert.channels.x.timeout": "2m"},
		`alert.routes.r.quiet must be a duration`:                                                                       {"alert.routes.r.channels": "ops", "alert.routes.r.quiet": "often"},
	} {
		s := configuration.Settings{}
		for _, from := range []configuration.Settings{ok, more} {
			for key, value := range from {
				s[key] = value
			}
		}
		r := s.Reading()
		_, err := readNotices(r, nil)
		if err == nil {
			err = r.Err
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v: got %v, want %s", more, err, want)
		}
	}
	r := ok.Reading()
	if _, err := readNotices(r, nil); err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the channel ops gets no notifications") {
		t.Errorf("a channel without a route: %v, notes %q", err, r.Notes)
	}
	r = configuration.Settings{"notification.type": "shell", "notification.shell.command": "cat", "notification.shell.timeout": "120000"}.Reading()
	if _, err := readNotices(r, nil); err != nil || len(r.Notes) != 1 || r.Notes[0] != "notification.shell.timeout is 2m0s, but the command of a notification has at most 1m30s" {
		t.Errorf("Digdag's time-out: %v, notes %q", err, r.Notes)
	}
	r = configuration.Settings{"alert.channels.x.type": "command", "alert.channels.x.command": "cat", "alert.channels.x.timeout": "90s", "alert.routes.r.channels": "x"}.Reading()
	if _, err := readNotices(r, nil); err != nil || len(r.Notes) != 0 {
		t.Errorf("the longest time-out: %v, notes %q", err, r.Notes)
	}
}

// TestSNS proves that the channel of a topic publishes the notice in the topic's region, with the credentials of the
// configuration, and that a refusal names the topic but no credential.
func TestSNS(t *testing.T) {
	t.Parallel()
	refuses := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		subject := r.FormValue("Subject")
		if r.FormValue("Action") != "Publish" || r.FormValue("TopicArn") != "arn:aws:sns:eu-west-1:123456789012:night" || len(subject) >= 100 || refuses ||
			!strings.Contains(r.Header.Get("Authorization"), "Credential=ACCESS/") || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/sns/aws4_request") {
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>not allowed</Message></Error></ErrorResponse>`)
			return
		}
		io.WriteString(w, `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m-1</MessageId></PublishResult></PublishResponse>`)
	}))
	defer server.Close()
	const c = "alert.channels.topic."
	o, err := readNotices(configuration.Settings{c + "type": "sns", c + "topic": "arn:aws:sns:eu-west-1:123456789012:night", c + "endpoint": server.URL,
		c + "credentials.access-key-id": "ACCESS", c + "credentials.secret-access-key": "SECRET"}.Reading(), nil)
	if err != nil {
		t.Fatal(err)
	}
	fields := notice.Fields(host.Notice{Kind: host.NoticeFailure, Message: strings.Repeat("ü", 200), Attempt: host.Attempt{Project: host.Ref{Name: "shop"}}}, time.Now())
	if answer, err := o.Channels[0].Sender.Send(t.Context(), fields); err != nil || answer != "published as m-1" {
		t.Errorf("got %q, %v", answer, err)
	}
	refuses = true
	if _, err := o.Channels[0].Sender.Send(t.Context(), fields); err == nil || !strings.Contains(err.Error(), "not allowed") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("a refusal: %v", err)
	}
}
