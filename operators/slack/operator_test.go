package slack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	"zerodag/operators/slack"
)

const token = "xoxb-1-secret"

// workspace responds according to Slack's documentation of chat.postMessage, of incoming webhooks and of rate limits,
// and stores the posted messages.
type workspace struct {
	mu     sync.Mutex
	posted []string
}

func open(t *testing.T) (*workspace, string) {
	t.Helper()
	w := &workspace{}
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	return w, s.URL
}

func (w *workspace) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.posted)
}

func (w *workspace) keep(body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posted = append(w.posted, string(body))
}

func (w *workspace) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		http.Error(out, "this is no JSON", http.StatusUnsupportedMediaType)
		return
	}
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		m = nil
	}
	text, _ := m["text"].(string)
	switch {
	case strings.HasPrefix(text, "limit"):
		out.Header().Set("Retry-After", strings.TrimPrefix(text, "limit "))
		out.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(out, `{"ok":false,"error":"ratelimited"}`)
	case text == "outage":
		out.WriteHeader(http.StatusServiceUnavailable)
	case text == "lost":
		w.keep(body)
		panic(http.ErrAbortHandler)
	case text == "slow":
		<-r.Context().Done()
	case r.URL.Path == "/api/chat.postMessage":
		w.method(out, r, body, m)
	default:
		w.webhook(out, r, body, m)
	}
}

// known matches the arguments of chat.postMessage.
var known = regexp.MustCompile(`^(channel|text|blocks|attachments|thread_ts|reply_broadcast|username|icon_emoji|icon_url|mrkdwn|unfurl_links|unfurl_media|link_names|parse|metadata)$`)

func (w *workspace) method(out http.ResponseWriter, r *http.Request, body []byte, m map[string]any) {
	channel, _ := m["channel"].(string)
	code, more := "", ""
	for key := range m {
		if !known.MatchString(key) {
			code = "invalid_arguments"
		}
	}
	thread, _ := m["thread_ts"].(string)
	blocks, _ := m["blocks"].([]any)
	switch authorization := r.Header.Get("Authorization"); {
	case code != "":
	case authorization == "":
		code = "not_authed"
	case authorization != "Bearer "+token:
		code = "invalid_auth"
	case channel == "C0PRIVATE":
		code, more = "missing_scope", `,"needed":"chat:write.public","provided":"identify"`
	case channel == "echo":
		code = "odd " + token
	case !strings.HasPrefix(channel, "C") && !strings.HasPrefix(channel, "#"):
		code = "channel_not_found"
	case m["text"] == nil && m["blocks"] == nil && m["attachments"] == nil:
		code = "no_text"
	case len(blocks) > 0 && blocks[0].(map[string]any)["type"] == nil:
		code, more = "invalid_blocks", `,"response_metadata":{"messages":["[ERROR] missing required field: type [json-pointer:/blocks/0]"]}`
	case thread != "" && !regexp.MustCompile(`^\d{10}\.\d{6}$`).MatchString(thread):
		code = "thread_not_found"
	case m["text"] == "old limit":
		code = "rate_limited"
	}
	if code != "" {
		fmt.Fprintf(out, `{"ok":false,"error":%q%s}`, code, more)
		return
	}
	w.keep(body)
	io.WriteString(out, `{"ok":true,"channel":"C0123456789","ts":"1503435956.000247","message":{"type":"message"},"warning":"x"}`)
}

func (w *workspace) webhook(out http.ResponseWriter, r *http.Request, body []byte, m map[string]any) {
	status, answer := 200, "ok"
	switch {
	case r.Header.Get("Authorization") != "" || m["channel"] != nil:
		status, answer = 400, "the token is for the API"
	case r.URL.Path == "/services/T0/B0/gone":
		status, answer = 404, "no_service"
	case r.URL.Path == "/services/T0/B0/archived":
		status, answer = 410, "channel_is_archived"
	case r.URL.Path != "/services/T0/B0/secret":
		status, answer = 403, "invalid_token"
	case m == nil:
		status, answer = 400, "invalid_payload"
	case m["text"] == nil && m["blocks"] == nil && m["attachments"] == nil:
		status, answer = 400, "no_text"
	case m["text"] == "echo":
		status, answer = 500, "rollup_error at "+r.URL.Path
	default:
		w.keep(body)
	}
	out.WriteHeader(status)
	io.WriteString(out, answer)
}

// world returns a task that may post in both ways.
func world(t *testing.T, base, params string) *operatortest.World {
	t.Helper()
	m := operatortest.Map(t, params)
	if m.Has("channel") && !m.Has("endpoint") {
		m.Set("endpoint", base+"/api/")
	}
	w := operatortest.New(t, param.Text(m))
	w.Vault["slack.token"] = token
	w.Vault["slack.webhook_url"] = base + "/services/T0/B0/secret"
	return w
}

func TestExercise(t *testing.T) {
	t.Parallel()
	_, base := open(t)
	for name, good := range map[string]string{
		"method": `{"channel": "#ops", "text": "hi", "blocks": [{"type": "divider"}], "attachments": [], "thread_ts": "1503435956.000247", "reply_broadcast": true,
			"username": "u", "icon_emoji": ":x:", "icon_url": "https://x", "mrkdwn": false, "unfurl_links": false, "unfurl_media": false, "timeout": "9s",
			"endpoint": "` + base + `/api"}`,
		"webhook": `{"text": "hi"}`,
	} {
		t.Run(name, func(t *testing.T) {
			operatortest.Exercise(t, operatortest.Subject{
				Operator: slack.Operator(),
				Good:     good,
				Slow:     `{"text": "slow"}`,
				Wrong: []string{`{}`, `{"text": ""}`, `{"text": "x", "slack": 1}`, `{"text": "x", "blocks": "["}`, `{"text": "x", "blocks": 1}`, `{"text": "x", "channel": []}`,
					`{"text": "x", "mrkdwn": "x"}`, `{"text": "x", "timeout": "x"}`, `{"text": "x", "channel": "c", "endpoint": "x"}`, `{"_command": "nosuch.txt"}`,
					`{"text": "` + strings.Repeat("ü", 40001) + `"}`, `{"blocks": [` + strings.Repeat("{},", 50) + `{}]}`},
				Prepare: func(_ *testing.T, w *operatortest.World) {
					w.Vault["slack.token"] = token
					w.Vault["slack.webhook_url"] = base + "/services/T0/B0/secret"
				},
			})
		})
	}
}

// TestPosts compares the messages that Slack got, and the values that the task stores, with the expected ones.
func TestPosts(t *testing.T) {
	t.Parallel()
	const stored = `{"slack":{"last_message":{"channel":"C0123456789","ts":"1503435956.000247"}}}`
	for params, want := range map[string]struct{ posted, store string }{
		`{"text": "hi <!here> ü"}`:                {`{"text":"hi <!here> ü"}`, ""},
		`{"_command": "message.txt"}`:             {`{"text":"from a file\n"}`, ""},
		`{"_command": {"data": "given"}}`:         {`{"text":"given"}`, ""},
		`{"blocks": "[{\"type\": \"divider\"}]"}`: {`{"blocks":[{"type":"divider"}]}`, ""},
		`{"text": "a", "channel": "#ops"}`:        {`{"text":"a","channel":"#ops"}`, stored},
		`{"text": "a", "slack": {"channel": "C1", "username": "u"}, "endpoint": "BASE/api"}`: {`{"text":"a","channel":"C1","username":"u"}`, stored},
		`{"text": "a", "channel": "C1", "thread_ts": "1503435956.000247", "reply_broadcast": "true", "unfurl_links": false}`: {
			`{"text":"a","channel":"C1","thread_ts":"1503435956.000247","reply_broadcast":true,"unfurl_links":false}`, stored},
		`{"channel": "C1", "attachments": [{"color": "good", "text": "t"}]}`: {`{"attachments":[{"color":"good","text":"t"}],"channel":"C1"}`, stored},
	} {
		server, base := open(t)
		w := world(t, base, strings.ReplaceAll(params, "BASE", base))
		w.File(t, "message.txt", "from a file\n")
		if diff := cmp.Diff(operatortest.Ended{Store: want.store}, operatortest.RunOnce(t, slack.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if diff := cmp.Diff([]string{want.posted}, server.posted); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestForgetsTheLastMessage checks that a webhook, which does not report where its message is, leaves no older location
// behind.
func TestForgetsTheLastMessage(t *testing.T) {
	t.Parallel()
	_, base := open(t)
	result, err := slack.Operator().Run(t.Context(), &world(t, base, `{"text": "a"}`).Task)
	if diff := cmp.Diff([][]string{{"slack", "last_message"}}, result.ResetStore); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	_, base := open(t)
	for params, want := range map[string]string{
		`{"text": "a", "channel": "nosuch"}`:                    "slack>: channel_not_found: check 'channel', and invite the app to it if it is private",
		`{"text": "a", "channel": "C0PRIVATE"}`:                 "slack>: missing_scope: give the app the scope chat:write.public, and install it again",
		`{"text": "a", "channel": "C1", "thread_ts": "x"}`:      "slack>: thread_not_found: check 'thread_ts'",
		`{"blocks": [{"x": 1}], "channel": "C1"}`:               "slack>: invalid_blocks: check 'blocks', https://app.slack.com/block-kit-builder shows what is wrong",
		`{"text": "a", "channel": "echo"}`:                      "slack>: odd ***: see https://api.slack.com/methods/chat.postMessage#errors",
		`{"text": "outage", "channel": "C1"}`:                   "slack>: HTTP status 503: the message may have been posted; check the channel, then run the task again or give it a `_retry`",
		`{"text": "outage"}`:                                    "slack>: HTTP status 503: the message may have been posted; check the channel, then run the task again or give it a `_retry`",
		`{"text": "echo"}`:                                      "slack>: rollup_error at ***: the message may have been posted; check the channel, then run the task again or give it a `_retry`",
		`{"text": "lost"}`:                                      "slack>: Slack is not responding (EOF): the message may have been posted; check the channel, then run the task again or give it a `_retry`",
		`{"text": "a", "channel": "C1", "endpoint": "BASE/no"}`: "slack>: HTTP status 400: see https://api.slack.com/methods/chat.postMessage#errors", // not JSON
	} {
		w := world(t, base, strings.ReplaceAll(params, "BASE", base))
		got := operatortest.RunOnce(t, slack.Operator(), w)
		if diff := cmp.Diff(operatortest.Ended{Error: want}, got); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if log := w.Output.String(); strings.Contains(params, `"x"`) && strings.Contains(params, "blocks") && !strings.Contains(log, "json-pointer:/blocks/0") {
			t.Errorf("%s: the log does not say what is wrong: %s", params, log)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	_, base := open(t)
	for name, c := range map[string]struct {
		params string
		vault  operatortest.Vault
		want   operatortest.Ended
	}{
		"no token":     {`{"text": "a", "channel": "C1"}`, operatortest.Vault{"slack.webhook_url": base}, operatortest.Ended{Error: "Secret not found for key: 'slack.token'", Kind: "secret not found"}},
		"nothing":      {`{"text": "a"}`, operatortest.Vault{"slack.token": token}, operatortest.Ended{Error: "slack> needs 'channel' with the secret slack.token, or the secret slack.webhook_url, or the parameter 'webhook_url'", Kind: "config"}},
		"other token":  {`{"text": "a", "channel": "C1"}`, operatortest.Vault{"slack.token": "other"}, operatortest.Ended{Error: "slack>: invalid_auth: renew the secret slack.token"}},
		"no URL":       {`{"text": "a"}`, operatortest.Vault{"slack.webhook_url": "hidden"}, operatortest.Ended{Error: "the secret slack.webhook_url must be a URL such as https://hooks.slack.com/services/…", Kind: "config"}},
		"removed":      {`{"text": "a"}`, operatortest.Vault{"slack.webhook_url": base + "/services/T0/B0/gone"}, operatortest.Ended{Error: "slack>: no_service: the webhook was removed: renew the secret slack.webhook_url"}},
		"archived":     {`{"text": "a"}`, operatortest.Vault{"slack.webhook_url": base + "/services/T0/B0/archived"}, operatortest.Ended{Error: "slack>: channel_is_archived: choose another channel"}},
		"unreachable":  {`{"text": "a"}`, operatortest.Vault{"slack.webhook_url": "http://127.0.0.1:1/services/hidden"}, operatortest.Ended{Error: "slack>: Slack is not responding (dial tcp 127.0.0.1:1: connect: connection refused): the message may have been posted; check the channel, then run the task again or give it a `_retry`"}},
		"other secret": {`{"text": "a"}`, operatortest.Vault{"slack.webhook_url": base + "/services/T0/B0/other"}, operatortest.Ended{Error: "slack>: invalid_token: renew the secret slack.webhook_url"}},
	} {
		w := world(t, base, c.params)
		w.Secrets = c.vault
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, slack.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if log := w.Output.String(); strings.Contains(log, "hidden") || strings.Contains(log, "/services/") || strings.Contains(log, token) {
			t.Errorf("%s: the log tells a secret: %s", name, log)
		}
	}
}

// TestLimits checks that a message that Slack has not yet accepted is posted later, only once, and that the task holds
// no resource in the meantime.
func TestLimits(t *testing.T) {
	t.Parallel()
	server, base := open(t)
	for params, want := range map[string]time.Duration{
		`{"text": "limit 17"}`:                     17 * time.Second,
		`{"text": "limit 17", "channel": "C1"}`:    17 * time.Second,
		`{"text": "limit 0"}`:                      time.Second,
		`{"text": "limit"}`:                        30 * time.Second,
		`{"text": "limit 999999"}`:                 time.Hour,
		`{"text": "old limit", "channel": "C1"}`:   30 * time.Second,
		`{"text": "limit x", "channel": "nosuch"}`: 30 * time.Second,
	} {
		w := world(t, base, params)
		w.State = param.New("retry_count", int64(1))
		_, err := slack.Operator().Run(t.Context(), &w.Task)
		later, isLater := err.(*operators.Later)
		if !isLater || later.After != want || param.Text(later.State) != `{"retry_count":1}` {
			t.Errorf("%s: got %v, want another run after %v", params, err, want)
		}
	}
	if n := server.count(); n != 0 {
		t.Errorf("%d messages were posted", n)
	}
}

// TestLostAnswer checks that a message that Slack may have received is not sent again automatically.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	server, base := open(t)
	got := operatortest.RunOnce(t, slack.Operator(), world(t, base, `{"text": "lost", "channel": "C1"}`))
	if !strings.Contains(got.Error, "may have been posted") || server.count() != 1 {
		t.Errorf("%d messages were posted: %+v", server.count(), got)
	}
}
