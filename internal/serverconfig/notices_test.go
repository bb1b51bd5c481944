package serverconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/evaluators"
	"zerodag/internal/notice"
	"zerodag/internal/notice/mail"
)

// TestNoticeSenders checks which settings each kind of notice reads, and that a template that cannot be evaluated is
// reported at startup and not when the first notice is due.
func TestNoticeSenders(t *testing.T) {
	t.Parallel()
	template := func(text string) string {
		name := filepath.Join(t.TempDir(), "t")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	pool := evaluators.New("")
	t.Cleanup(pool.Close)
	sender := func(s configuration.Settings) (notice.Sender, error) {
		r := s.Reading()
		n, err := noticeSender(r, pool)
		if err == nil {
			err = r.Err
		}
		return n, err
	}
	if n, err := sender(nil); n != nil || err != nil {
		t.Errorf("nothing is asked for: %v, %v", n, err)
	}
	n, err := sender(configuration.Settings{"notification.type": "http", "notification.http.url": "http://x", "notification.http.headers.A": "b", "notification.http.method": "PUT"})
	if h, ok := n.(notice.HTTP); !ok || err != nil || h.URL != "http://x" || h.Headers["A"] != "b" || h.Method != "PUT" {
		t.Errorf("http: %+v, %v", n, err)
	}
	mails := configuration.Settings{"notification.type": "mail", "notification.mail.host": "h", "notification.mail.from": "f@x", "notification.mail.to": `["a@x", b@x,]`, "notification.mail.port": "25",
		"notification.mail.body_template_file": template("${message}, so mend it")}
	n, err = sender(mails)
	m, ok := n.(mail.Sender)
	if !ok || err != nil {
		t.Fatalf("mail: %+v, %v", n, err)
	}
	to, _ := m.Message.Get("to")
	if list, _ := to.([]param.Value); len(list) != 2 || list[0] != "a@x" || list[1] != "b@x" {
		t.Errorf("to %v", to)
	}
	body, err := m.Body(param.New("message", "it failed"))
	if err != nil || body != "it failed, so mend it" {
		t.Errorf("the body is %q, %v", body, err)
	}
	mails["notification.mail.body_template_file"] = template("${massage}")
	if _, err := sender(mails); err == nil || !strings.Contains(err.Error(), "massage") {
		t.Errorf("a wrong template: %v", err)
	}
	for _, s := range []configuration.Settings{{"notification.type": "mail", "notification.mail.from": "f"}, {"notification.type": "mail", "notification.mail.host": "h"}, {"notification.type": "shell"}} {
		if _, err := sender(s); err == nil || !strings.Contains(err.Error(), "is missing: notification.type is") {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// TestTraces proves that the configuration overrides OpenTelemetry's variables, that either may name a collector with
// or without the signal's path, that the headers of both are combined, and that errors name an invalid header.
func TestTraces(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		t.Setenv(name, "")
	}
	for endpoint, want := range map[string]string{"http://c:4318": "http://c:4318/v1/traces", "http://c/": "http://c/v1/traces", "http://c/x/v1/traces": "http://c/x/v1/traces"} {
		if got := tracesPath(endpoint); got != want {
			t.Errorf("%s: %s", endpoint, got)
		}
	}
	if tracer, err := newTraces(configuration.Settings{}.Reading()); tracer != nil || err != nil {
		t.Errorf("nowhere: %v, %v", tracer, err)
	}
	headers := map[string]string{"a": "of the configuration"}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", " a=b , c=d%20e,, ")
	if err := addEncodedHeaders(headers, "OTEL_EXPORTER_OTLP_HEADERS"); err != nil || headers["a"] != "of the configuration" || headers["c"] != "d e" || len(headers) != 2 {
		t.Errorf("%v, %v", headers, err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")
	if _, err := newTraces(configuration.Settings{}.Reading()); err == nil || !strings.HasPrefix(err.Error(), "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL") {
		t.Errorf("a wrong variable: %v", err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318")
	for _, wrong := range []string{"a", "a=%zz"} {
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", wrong)
		if _, err := newTraces(configuration.Settings{}.Reading()); err == nil || !strings.HasPrefix(err.Error(), "OTEL_EXPORTER_OTLP_TRACES_HEADERS must be") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "")
	if tracer, err := newTraces(configuration.Settings{}.Reading()); tracer == nil || err != nil {
		t.Errorf("a variable: %v, %v", tracer, err)
	}
}
