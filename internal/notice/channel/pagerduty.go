package channel

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// PagerDutyAPI is the default address of the Events API v2; the address in the EU is https://events.eu.pagerduty.com.
const PagerDutyAPI = "https://events.pagerduty.com"

// PagerDuty's limits: 1,024 characters for a summary, 255 for a key, 512 KB for an event.
const (
	pagerSummary = 1024
	pagerKey     = 255
	pagerOutput  = 20_000
)

// PagerDuty returns a channel for an Events API v2 integration with the given routing key. A failure opens an incident
// for its workflow, and `recovered` resolves it. Other kinds open incidents that users resolve. The channel must be
// ordered.
func PagerDuty(api, key string) Hook {
	return Hook{url: strings.TrimSuffix(api, "/") + "/v2/enqueue", secrets: []string{key},
		payload: func(m message, fields *param.Map) *param.Map { return pagerEvent(key, m, fields) }}
}

func pagerEvent(key string, m message, fields *param.Map) *param.Map {
	event := param.New("routing_key", key, "event_action", "trigger", "dedup_key", pagerDedup(m, fields))
	if m.kind == host.NoticeRecovered {
		event.Set("event_action", "resolve")
		return event
	}
	details := param.New()
	for _, f := range m.facts {
		details.Set(f.name, f.value)
	}
	if m.output != "" {
		details.Set("Last lines", tail(m.output, pagerOutput))
	}
	if m.commands != "" {
		details.Set("Resume", m.commands)
	}
	payload := param.New("summary", cut(m.title, pagerSummary), "source", pagerSource(m), "severity", pagerSeverity(m.kind), "component", m.subject, "class", string(m.kind), "custom_details", details)
	if at, _ := fields.Get("timestamp"); at != nil {
		payload.Set("timestamp", at)
	}
	event.Set("payload", payload)
	event.Set("client", "zerodag")
	if m.link != "" {
		event.Set("client_url", m.link)
		event.Set("links", []param.Value{param.New("href", m.link, "text", linkText)})
	}
	return event
}

// pagerSource returns the event's source, which PagerDuty requires.
func pagerSource(m message) string {
	if m.subject == "" {
		return "zerodag"
	}
	return m.subject
}

func pagerSeverity(k host.NoticeKind) string {
	switch k {
	case host.NoticeFailure, host.NoticeStartFailed:
		return "error"
	case host.NoticeSLA, host.NoticeSlow, host.NoticeLate:
		return "warning"
	}
	return "info"
}

// pagerDedup returns the name of a notice's incident: all failures of a workflow share one, because its next success
// resolves them all, and any other kind of notice has one for each attempt.
func pagerDedup(m message, fields *param.Map) string {
	site, _ := fields.Get("site_id")
	key := "zerodag/" + param.Text(site) + "/" + m.subject
	switch m.kind {
	case host.NoticeFailure, host.NoticeStartFailed, host.NoticeRecovered:
		return short(key)
	}
	attempt, _ := fields.Get("attempt_id")
	return short(key + "/" + string(m.kind) + "/" + param.Text(attempt))
}

// short returns a key within PagerDuty's limit; long keys end with a hash, so that different keys stay different.
func short(key string) string {
	if len(key) <= pagerKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	hash := "#" + hex.EncodeToString(sum[:16])
	return cut(key, pagerKey-len(hash)) + hash
}
