package slack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/operators/operatortest"
	"zerodag/operators/slack"
)

// TestProjectsOfDigdagSlack checks that tasks written for the plugin szyn/digdag-slack post the same messages as
// before: the command is a template of the whole payload, and the webhook is a parameter.
func TestProjectsOfDigdagSlack(t *testing.T) {
	t.Parallel()
	const sample = "---\nusername: Digdag\nicon_emoji: ':cry:'\nattachments:\n- color: \"danger\"\n  text: '*[FAILED]* `x`'\n  mrkdwn_in:\n  - text\n"
	const posted = "{\"username\":\"Digdag\",\"icon_emoji\":\":cry:\",\"attachments\":[{\"color\":\"danger\",\"text\":\"*[FAILED]* `x`\",\"mrkdwn_in\":[\"text\"]}]}"
	for params, want := range map[string]string{
		`{"webhook_url": "BASE/services/T0/B0/secret", "_command": "payload.yml"}`:                                             posted,
		`{"slack": {"webhook_url": "BASE/services/T0/B0/secret"}, "_command": "payload.yml"}`:                                  posted,
		`{"webhook_url": "${secret:slack.webhook_url}", "_command": "payload.yml"}`:                                            posted,
		`{"webhook_url": "BASE/services/T0/B0/secret", "message": "{\"text\": \"t\"}"}`:                                        `{"text":"t"}`,
		`{"webhook_url": "BASE/services/T0/B0/secret", "text": "all is well"}`:                                                 `{"text":"all is well"}`,
		`{"webhook_url": "BASE/services/T0/B0/secret", "_command": {"data": "text: d"}, "attachments": [], "username": "own"}`: `{"text":"d","username":"own"}`,
	} {
		server, base := open(t)
		w := world(t, base, strings.ReplaceAll(params, "BASE", base))
		w.File(t, "payload.yml", sample)
		if diff := cmp.Diff(operatortest.Ended{}, operatortest.RunOnce(t, slack.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
		if diff := cmp.Diff([]string{want}, server.posted); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
}

// TestPayloadsThatAreRefused checks that an invalid payload is reported and not posted, and that the error shows no
// webhook.
func TestPayloadsThatAreRefused(t *testing.T) {
	t.Parallel()
	server, base := open(t)
	for params, want := range map[string]string{
		`{"webhook_url": "hidden", "text": "a"}`:                                       "'webhook_url' must be a URL such as https://hooks.slack.com/services/…",
		`{"webhook_url": "BASE/services/T0/B0/secret", "_command": {"data": "a: b"}}`:  "the payload has neither 'text' nor 'attachments' nor 'blocks'",
		`{"webhook_url": "BASE/services/T0/B0/secret", "_command": {"data": "- a"}}`:   "the payload is not a mapping",
		`{"webhook_url": "BASE/services/T0/B0/secret", "_command": {"data": "a: [b"}}`: "slack> with 'webhook_url' posts a payload in YAML or JSON: the payload:1",
		`{"webhook_url": "BASE/services/T0/B0/secret"}`:                                "slack> needs a message",
		`{"webhook_url": "BASE/services/T0/B0/gone", "text": "a"}`:                     "slack>: no_service: the webhook was removed",
	} {
		w := world(t, base, strings.ReplaceAll(params, "BASE", base))
		got := operatortest.RunOnce(t, slack.Operator(), w)
		if !strings.Contains(got.Error, want) || strings.Contains(got.Error+w.Output.String(), "/services/T0") {
			t.Errorf("%s: %+v", params, got)
		}
	}
	if server.count() > 0 {
		t.Errorf("posted %v", server.posted)
	}
}
