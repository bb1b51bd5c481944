package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// destination is where a message goes: an incoming webhook, which has a fixed channel, or a method of the API with a
// token.
type destination struct {
	address string
	token   string // "" for a webhook
	timeout time.Duration
}

const (
	defaultAPI = "https://slack.com/api"
	mostBytes  = 1 << 20 // of a response
)

// target chooses the destination: a webhook parameter takes precedence; a message that names a channel needs the token,
// and any other uses the webhook from the secrets.
func target(t *operators.Task, p *operators.Params, m *param.Map, hook string) (destination, error) {
	d := destination{}
	var err error
	if d.timeout, err = p.DurationOr("timeout", 30*time.Second); err != nil {
		return d, err
	}
	api, err := p.StringOr("endpoint", defaultAPI)
	if err != nil {
		return d, err
	}
	if hook != "" {
		d.address = hook
		return d, nil
	}
	if !m.Has("channel") {
		if d.address, err = t.OptionalSecret("slack.webhook_url"); err != nil || d.address != "" {
			return d, errors.Join(err, checkAddress("the secret slack.webhook_url", d.address, true))
		}
		return d, param.Errorf("slack> needs 'channel' with the secret slack.token, or the secret slack.webhook_url, or the parameter 'webhook_url'")
	}
	if d.token, err = t.RequireSecret("slack.token"); err != nil {
		return d, err
	}
	d.address = strings.TrimSuffix(api, "/") + "/chat.postMessage"
	return d, checkAddress("'endpoint'", api, false)
}

func checkAddress(what, address string, secret bool) error {
	u, err := url.Parse(address)
	if err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
		return nil
	}
	if secret {
		return param.Errorf("%s must be a URL such as https://hooks.slack.com/services/…", what)
	}
	return param.Errorf("%s must be a URL: %s", what, address)
}

// post sends the message once and returns its location: nothing for a webhook, which does not report it.
func (d destination) post(ctx context.Context, t *operators.Task, m *param.Map) (*param.Map, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.address, strings.NewReader(param.Text(m)))
	if err != nil {
		return nil, operators.Causedf(err, "slack>: can't post: %s", d.masked(reason(err)))
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	if d.token != "" {
		request.Header.Set("Authorization", "Bearer "+d.token)
	}
	response, err := t.HTTP.Client(operators.HTTPOptions{Timeout: d.timeout}).Do(request)
	if err != nil {
		return nil, d.unanswered(ctx, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return nil, d.unanswered(ctx, err)
	}
	if d.token == "" {
		return nil, d.judgeWebhook(t, response, string(body))
	}
	return d.judge(t, response, string(body))
}

// unanswered returns the failure of a request without a response: Slack may have the message, so it is not sent again
// unless the task requests that.
func (d destination) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return operators.Causedf(err, "slack>: Slack is not responding (%s): the message may have been posted; check the channel, then run the task again or give it a `_retry`",
		d.masked(reason(err)))
}

func (d destination) judgeWebhook(t *operators.Task, r *http.Response, body string) error {
	switch {
	case r.StatusCode == http.StatusTooManyRequests:
		return wait(t, r)
	case r.StatusCode >= 200 && r.StatusCode < 300:
		t.Log.Line(operators.Info, "SlackOperator", "Posted to the webhook")
		return nil
	}
	return d.refused(r, strings.TrimSpace(body), "")
}

// judge reads the response of a method: Slack returns status 200 in almost all cases, with the result in JSON.
func (d destination) judge(t *operators.Task, r *http.Response, body string) (*param.Map, error) {
	v, err := param.ParseJSON(body)
	answer, isMap := v.(*param.Map)
	if r.StatusCode == http.StatusTooManyRequests {
		return nil, wait(t, r)
	}
	if err != nil || !isMap {
		return nil, d.refused(r, "", "")
	}
	ok, _ := answer.Get("ok")
	if ok == true {
		posted := param.New("channel", field(answer, "channel"), "ts", field(answer, "ts"))
		t.Log.Line(operators.Info, "SlackOperator", "Posted "+field(answer, "ts")+" to "+field(answer, "channel"))
		return posted, nil
	}
	code := field(answer, "error")
	if code == "ratelimited" || code == "rate_limited" {
		return nil, wait(t, r)
	}
	if details, err := operators.ReadOr(operators.NewParams(answer.Map("response_metadata")), "messages", operators.ListOf, nil); err == nil && len(details) > 0 {
		t.Log.Line(operators.Error, "SlackOperator", d.masked(strings.Join(details, "\n")))
	}
	return nil, d.refused(r, code, field(answer, "needed"))
}

func field(m *param.Map, key string) string {
	v, _ := m.Get(key)
	text, _ := v.(string)
	return text
}

const (
	usualWait   = 30 * time.Second // if Slack does not specify it
	longestWait = time.Hour
)

// wait requests another run at the time when Slack accepts messages again; no message was posted.
func wait(t *operators.Task, r *http.Response) error {
	after := usualWait
	if seconds, err := strconv.Atoi(strings.TrimSpace(r.Header.Get("Retry-After"))); err == nil && seconds >= 0 {
		after = min(max(time.Duration(seconds)*time.Second, time.Second), longestWait)
	}
	t.Log.Line(operators.Warn, "SlackOperator", fmt.Sprintf("Slack is not accepting messages: retrying in %d seconds", after/time.Second))
	return &operators.Later{After: after, State: t.State.Clone()}
}

// remedyFor returns what users can do about a Slack error; "" if nothing.
func remedyFor(code string) string {
	return map[string]string{
		"account_inactive":        "renew the secret slack.token",
		"action_prohibited":       "an administrator of the workspace does not allow it",
		"cannot_reply_to_message": "'thread_ts' names a message that cannot have replies",
		"channel_is_archived":     "choose another channel",
		"channel_not_found":       "check 'channel', and invite the app to it if it is private",
		"invalid_auth":            "renew the secret slack.token",
		"invalid_blocks":          "check 'blocks', https://app.slack.com/block-kit-builder shows what is wrong",
		"invalid_blocks_format":   "check 'blocks', https://app.slack.com/block-kit-builder shows what is wrong",
		"invalid_payload":         "check 'blocks' and 'attachments', https://app.slack.com/block-kit-builder shows what is wrong",
		"invalid_token":           "renew the secret slack.webhook_url",
		"is_archived":             "choose another channel",
		"msg_blocks_too_long":     "make 'blocks' shorter",
		"msg_too_long":            "make the text shorter",
		"no_active_hooks":         "the webhook was switched off: renew the secret slack.webhook_url",
		"no_service":              "the webhook was removed: renew the secret slack.webhook_url",
		"no_team":                 "the webhook was removed: renew the secret slack.webhook_url",
		"not_allowed_token_type":  "the secret slack.token must be a bot or user token",
		"not_authed":              "set the secret slack.token",
		"not_in_channel":          "invite the app to the channel",
		"restricted_action":       "an administrator of the workspace does not allow it",
		"team_access_not_granted": "install the app in the workspace",
		"thread_not_found":        "check 'thread_ts'",
		"token_expired":           "renew the secret slack.token",
		"token_revoked":           "renew the secret slack.token",
		"invalid_arguments":       "check the parameters of the task",
		"messages_tab_disabled":   "enable the messages tab of the app",
		"no_text":                 "set 'text'",
		"too_many_attachments":    "post fewer attachments",
		"ekm_access_denied":       "an administrator of the workspace does not allow it",
	}[code]
}

// refused returns the failure that Slack reported.
func (d destination) refused(r *http.Response, code, scope string) error {
	remedy := remedyFor(code)
	switch {
	case code == "missing_scope":
		remedy = "give the app the scope " + cmp.Or(scope, "chat:write") + ", and install it again"
	case remedy == "" && (r.StatusCode >= 500 || code == "internal_error" || code == "fatal_error" || code == "service_unavailable" || code == "request_timeout"):
		remedy = "the message may have been posted; check the channel, then run the task again or give it a `_retry`"
	case remedy == "":
		remedy = "see https://api.slack.com/methods/chat.postMessage#errors"
	}
	if len(code) > 200 {
		code = code[:200]
	}
	return operators.Failf("slack>: %s: %s", d.masked(cmp.Or(code, "HTTP status "+strconv.Itoa(r.StatusCode))), remedy)
}

// masked returns a string without secrets.
func (d destination) masked(text string) string {
	if d.token != "" {
		return strings.ReplaceAll(text, d.token, "***")
	}
	text = strings.ReplaceAll(text, d.address, "***")
	if u, err := url.Parse(d.address); err == nil && len(u.Path) > 1 {
		text = strings.ReplaceAll(text, u.Path, "***")
	}
	return text
}

// reason returns an error without the URL that net/http adds.
func reason(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}
