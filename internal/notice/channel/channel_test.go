package channel

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/internal/notice"
)

const secret = "T0PSECRETT0KEN"

func at() time.Time { return time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC) }

// failed returns the fields of a failed attempt with an error and an output.
func failed(kind host.NoticeKind, message, output string) *param.Map {
	fields := notice.Fields(host.Notice{Kind: kind, Message: "Workflow session attempt failed", Task: "+nightly^failure-alert",
		Attempt: host.Attempt{ID: 7, Site: 1, SessionID: 3, Project: host.Ref{ID: 1, Name: "shop"}, Workflow: host.Ref{ID: 5, Name: "nightly"}},
		Failure: &host.Failure{Task: "+nightly+load", Message: message, Lines: strings.Split(output, "\n")}}, at())
	fields.Set("url", "https://zerodag.example.com/attempts/7")
	return fields
}

// received is what a receiver got.
type received struct {
	path string
	body map[string]any
}

// receiver returns a server that checks each request as the vendor's documentation requires, and responds with the text
// and status that check returns.
func receiver(t *testing.T, check func(received) (status int, answer string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got := received{path: r.URL.RequestURI()}
		if err := json.Unmarshal(text, &got.body); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "invalid_payload", http.StatusBadRequest)
			return
		}
		status, answer := check(got)
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// services returns a channel for each service, with a receiver that behaves as the service's documentation describes:
// it accepts valid messages within the limits.
func services(t *testing.T, got func(name string, r received)) map[string]Hook {
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	letters := func(s string) int { return len(utf16.Encode([]rune(s))) }
	accepting := func(name, answer, refusal string, status int, valid func(received) bool) string {
		return receiver(t, func(r received) (int, string) {
			if !valid(r) {
				return http.StatusBadRequest, refusal
			}
			got(name, r)
			return status, answer
		})
	}
	section := func(b any) bool {
		m := b.(map[string]any)
		words, _ := m["text"].(map[string]any)
		return m["type"] == "section" && words["type"] == "mrkdwn" && words["verbatim"] == true && text(words, "text") != "" && letters(text(words, "text")) <= 3000
	}
	slack := accepting("slack", "ok", "invalid_blocks", 200, func(r received) bool {
		blocks, _ := r.body["blocks"].([]any)
		for _, b := range blocks {
			if !section(b) {
				return false
			}
		}
		return text(r.body, "text") != "" && letters(text(r.body, "text")) <= 40_000 && len(blocks) <= 50
	})
	teams := accepting("teams", "", "invalid", 202, func(r received) bool {
		all, _ := json.Marshal(r.body)
		list, _ := r.body["attachments"].([]any)
		if r.body["type"] != "message" || len(list) != 1 || len(all) > 28<<10 {
			return false
		}
		a := list[0].(map[string]any)
		card, _ := a["content"].(map[string]any)
		return a["contentType"] == "application/vnd.microsoft.card.adaptive" && card["type"] == "AdaptiveCard" && text(card, "version") != "" && len(card["body"].([]any)) > 0
	})
	discord := accepting("discord", `{"id":"1"}`, `{"code":50035}`, 200, func(r received) bool {
		mentions, _ := r.body["allowed_mentions"].(map[string]any)
		parse, is := mentions["parse"].([]any)
		n := letters(text(r.body, "content"))
		return strings.HasSuffix(r.path, "?wait=true") && n > 0 && n <= 2000 && is && len(parse) == 0
	})
	tag := regexp.MustCompile(`</?(b|code|pre|a)( href="[^"<>]*")?>`)
	telegram := accepting("telegram", `{"ok":true,"result":{"message_id":1}}`, `{"ok":false,"error_code":400,"description":"Bad Request"}`, 200, func(r received) bool {
		plain := tag.ReplaceAllString(text(r.body, "text"), "")
		for _, escape := range []string{"&amp;", "&lt;", "&gt;"} {
			plain = strings.ReplaceAll(plain, escape, "_")
		}
		return r.path == "/bot"+secret+"/sendMessage" && r.body["chat_id"] == -100.0 && r.body["parse_mode"] == "HTML" && plain != "" && letters(plain) <= 4096 && !strings.ContainsAny(plain, "<>&")
	})
	pager := accepting("pagerduty", `{"status":"success","message":"Event processed"}`, `{"status":"invalid event","errors":["x"]}`, 202, func(r received) bool {
		p, _ := r.body["payload"].(map[string]any)
		trigger := letters(text(p, "summary")) > 0 && letters(text(p, "summary")) <= 1024 && text(p, "source") != "" &&
			strings.Contains(" critical error warning info ", " "+text(p, "severity")+" ")
		return r.path == "/v2/enqueue" && r.body["routing_key"] == secret && text(r.body, "dedup_key") != "" && len(text(r.body, "dedup_key")) <= 255 &&
			(r.body["event_action"] == "resolve" || r.body["event_action"] == "trigger" && trigger)
	})
	return map[string]Hook{"slack": Slack(slack + "/services/T1/B1/" + secret), "teams": Teams(teams + "/workflows/x?sig=" + secret), "discord": Discord(discord + "/api/webhooks/1/" + secret),
		"telegram": Telegram(telegram, secret, "-100"), "pagerduty": PagerDuty(pager, secret)}
}

// TestServices proves that each service accepts notices of all kinds, and that readers see which task of which workflow
// failed, why, and the last lines of its output.
func TestServices(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	all := services(t, func(name string, r received) {
		text, _ := json.Marshal(r.body)
		texts[name] = string(text)
	})
	for name, c := range all {
		for _, kind := range append(host.NoticeKinds(), "test", "") {
			fields := notice.Fields(host.Notice{Kind: kind, Message: "m"}, at())
			if _, err := c.Send(t.Context(), fields); err != nil {
				t.Errorf("%s: %s: %v", name, kind, err)
			}
		}
		answer, err := c.Send(t.Context(), failed(host.NoticeFailure, "Command failed with code 1", "3 rows are missing"))
		if err != nil || !strings.HasPrefix(answer, "20") {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		for _, want := range []string{"shop/nightly: Workflow session attempt failed", "+nightly+load", "Command failed with code 1", "3 rows are missing", "zerodag retry 7", "https://zerodag.example.com/attempts/7"} {
			if !strings.Contains(texts[name], want) {
				t.Errorf("%s does not show %q: %s", name, want, texts[name])
			}
		}
	}
	if len(texts) != 5 {
		t.Errorf("%d services got messages, want 5", len(texts))
	}
}

// TestPagerDuty proves that a workflow's success resolves the incident of its failures and no other incident.
func TestPagerDuty(t *testing.T) {
	t.Parallel()
	var keys []string
	c := services(t, func(_ string, r received) {
		keys = append(keys, r.body["event_action"].(string)+" "+r.body["dedup_key"].(string))
	})["pagerduty"]
	for _, kind := range []host.NoticeKind{host.NoticeFailure, host.NoticeStartFailed, host.NoticeSLA, host.NoticeRecovered} {
		if _, err := c.Send(t.Context(), failed(kind, "no", "")); err != nil {
			t.Fatal(err)
		}
	}
	const incident = "zerodag/1/shop/nightly"
	want := []string{"trigger " + incident, "trigger " + incident, "trigger " + incident + "/sla/7", "resolve " + incident}
	if strings.Join(keys, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", keys, want)
	}
	if a, b := short(strings.Repeat("a", 300)+"b"), short(strings.Repeat("a", 300)+"c"); a == b || len(a) > pagerKey {
		t.Errorf("long keys: %s, %s", a, b)
	}
}

// TestMarkup proves that users' text mentions no one, creates no links and ends no code blocks.
func TestMarkup(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for name, c := range services(t, func(name string, r received) {
		var plain strings.Builder
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		if err := e.Encode(r.body); err != nil {
			t.Error(err)
		}
		got[name] = plain.String()
	}) {
		if _, err := c.Send(t.Context(), failed(host.NoticeFailure, "<!channel> *b* [a](http://b) </b>", "```\n<!here>")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, list := range map[string][]string{"slack": {"<!channel>", "<!here>", "```\\n```"}, "telegram": {"<!", "Error: </b>"}, "discord": {" *b* ", " [a]("}, "teams": {" *b* ", " [a]("}} {
		for _, no := range list {
			if strings.Contains(got[name], no) {
				t.Errorf("%s: %q in %s", name, no, got[name])
			}
		}
	}
}

// TestRefusals proves that errors show the response but no secret, that a request to slow down is respected, and that a
// wrong key counts as a permanent refusal.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]notice.Refusal{400: {Permanent: true}, 401: {Permanent: true}, 403: {Permanent: true}, 404: {Permanent: true}, 410: {Permanent: true},
		429: {After: 7 * time.Second}, 408: {}, 500: {}, 503: {}} {
		url := receiver(t, func(r received) (int, string) { return status, "no_service for " + r.path + " and " + secret })
		for name, c := range map[string]Hook{"slack": Slack(url + "/services/" + secret), "discord": Discord(url + "/api/webhooks/1/" + secret), "teams": Teams(url + "/w?sig=" + secret),
			"telegram": Telegram(url, secret, "@room"), "pagerduty": PagerDuty(url, secret)} {
			_, err := c.Send(t.Context(), failed(host.NoticeFailure, "no", ""))
			var refused *notice.Refusal
			if !errors.As(err, &refused) || refused.Permanent != want.Permanent || refused.After != want.After || !strings.Contains(err.Error(), "no_service") {
				t.Errorf("%s: %d: %+v", name, status, err)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %d: the error contains the secret: %v", name, status, err)
			}
		}
	}
	for name, c := range map[string]Hook{"slack": Slack("http://127.0.0.1:1/" + secret), "telegram": Telegram("http://127.0.0.1:1", secret, "1"), "a malformed address": Slack("http://[::1/" + secret)} {
		if _, err := c.Send(t.Context(), param.New()); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
	url := receiver(t, func(received) (int, string) {
		return 200, `{"ok":false,"description":"chat not found\u001b[2J ` + secret + `","parameters":{"retry_after":3}}`
	})
	_, err := Telegram(url, secret, "1").Send(t.Context(), param.New())
	var refused *notice.Refusal
	if !errors.As(err, &refused) || refused.After != 3*time.Second || !strings.HasSuffix(err.Error(), "chat not found[2J ***") {
		t.Errorf("an error with status 200: %+v", err)
	}
}

// FuzzMessages proves that every service gets valid text within its limits, whatever users write.
func FuzzMessages(f *testing.F) {
	f.Add("error", "output")
	f.Add(strings.Repeat("&", 5000), strings.Repeat("<\n", 5000))
	f.Add(strings.Repeat("*`_[", 3000), strings.Repeat("\U0001F600", 4000))
	f.Add(strings.Repeat("\x01\x1b\\", 5000), strings.Repeat("\x1b[31m\n\\", 5000))
	f.Add("\xff\xfe\x00", "a\xff\n```")
	f.Add(strings.Repeat("ü", 999), strings.Repeat("x", 20_000))
	f.Fuzz(func(t *testing.T, message, output string) {
		fields := failed(host.NoticeFailure, message, output)
		fields.Set("workflow_name", message)
		m := read(fields)
		letters := func(s string) int { return len(utf16.Encode([]rune(s))) }
		check := func(what, text string, most int) {
			if !utf8.ValidString(text) || letters(text) > most || text == "" {
				t.Errorf("%s: %d letters, at most %d; valid: %v", what, letters(text), most, utf8.ValidString(text))
			}
		}
		slack := slackMessage(m)
		blocks, _ := slack.Get("blocks")
		for _, b := range blocks.([]param.Value) {
			text, _ := b.(*param.Map).Map("text").Get("text")
			check("slack", text.(string), 3000)
			if rest := regexp.MustCompile(`&(amp|lt|gt);`).ReplaceAllString(strings.Replace(text.(string), "<https://zerodag.example.com/attempts/7|Open the attempt>", "", 1), ""); strings.ContainsAny(rest, "<>&") {
				t.Errorf("slack: markup in %q", rest)
			}
		}
		content, _ := discordMessage(m).Get("content")
		check("discord", content.(string), 2000)
		check("telegram", telegramMessage(m), 4096)
		if rest := regexp.MustCompile(`&(amp|lt|gt);|</?(b|code|pre)>|<a href="[^"<>]*">|</a>`).ReplaceAllString(telegramMessage(m), ""); strings.ContainsAny(rest, "<>&") {
			t.Errorf("telegram: markup in %q", rest)
		}
		if n := len(param.AppendJSON(nil, teamsMessage(m))); n > 28<<10 {
			t.Errorf("teams: %d bytes", n)
		}
		event := pagerEvent("k", m, fields)
		summary, _ := event.Map("payload").Get("summary")
		check("pagerduty", summary.(string), 1024)
		if n := len(param.AppendJSON(nil, event)); n > 512<<10 {
			t.Errorf("pagerduty: %d bytes", n)
		}
		if !json.Valid(param.AppendJSON(nil, slack)) || !json.Valid(param.AppendJSON(nil, teamsMessage(m))) || !json.Valid(param.AppendJSON(nil, event)) {
			t.Error("invalid JSON")
		}
	})
}
