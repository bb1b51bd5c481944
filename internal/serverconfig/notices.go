package serverconfig

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/internal/configuration"
	"zerodag/internal/evaluators"
	"zerodag/internal/host"
	"zerodag/internal/notice"
	"zerodag/internal/notice/mail"
	"zerodag/internal/program"
)

// readNotices reads the notice settings (server.md#settings). Without any, there are no channels.
func readNotices(r *configuration.Reading, pool *evaluators.Pool) (notice.OutboxOptions, error) {
	milliseconds := func(key string, otherwise int) time.Duration {
		return time.Duration(r.Number(key, otherwise)) * time.Millisecond
	}
	o := notice.OutboxOptions{
		Options: notice.Options{
			Program:  program.Called(),
			Retries:  r.Number("notification.retries", 10),
			Shortest: milliseconds("notification.min_retry_wait", 1000),
			Longest:  milliseconds("notification.max_retry_wait", 30_000),
		},
		GiveUp: r.Duration("notification.give_up_after", 0),
	}
	sender, err := noticeSender(r, pool)
	if err != nil {
		return o, err
	}
	if sender != nil {
		o.Channels = append(o.Channels, notice.Channel{Name: notice.Default, Type: r.Text("notification.type", ""), Sender: sender})
		o.Routes = append(o.Routes, notice.DefaultRoute())
	}
	err = readAlerts(r, pool, &o)
	return o, err
}

func noticeSender(r *configuration.Reading, pool *evaluators.Pool) (notice.Sender, error) {
	required := func(key string) (string, error) {
		if v := r.Text(key, ""); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("configuration key %s is missing: notification.type is %q", key, r.Settings["notification.type"])
	}
	switch kind := r.Text("notification.type", ""); kind {
	case "":
		return nil, nil
	case "http":
		url, err := required("notification.http.url")
		return notice.HTTP{URL: url, Method: r.Text("notification.http.method", ""), Headers: r.Tree("notification.http.headers.")}, err
	case "shell":
		command, err := required("notification.shell.command")
		limit := time.Duration(r.Number("notification.shell.timeout", 30_000)) * time.Millisecond
		if limit > notice.LongestShell { // Digdag accepts any
			r.Note(fmt.Sprintf("notification.shell.timeout is %v, but the command of a notification has at most %v", limit, notice.LongestShell))
		}
		return notice.Shell{Command: command, Timeout: limit}, err
	case "mail":
		m, err := mailNotices(r, pool, "notification.mail.", required)
		if err != nil {
			return nil, err
		}
		return m, nil
	default:
		return nil, fmt.Errorf("configuration key notification.type is %q: use mail, http or shell", kind)
	}
}

// mailNotices reads the mail settings whose keys begin with prefix.
func mailNotices(r *configuration.Reading, pool *evaluators.Pool, prefix string, required func(string) (string, error)) (m mail.Sender, err error) {
	host, err := required(prefix + "host")
	if err != nil {
		return m, err
	}
	from, err := required(prefix + "from")
	if err != nil {
		return m, err
	}
	m = mail.Sender{
		Server: param.New("host", host, "tls", r.Text(prefix+"tls", "true"), "ssl", r.Text(prefix+"ssl", "false")),
		Message: param.New("from", from, "subject", r.Text(prefix+"subject", "Digdag Notification"),
			"html", r.Text(prefix+"html", "false"), "to", []param.Value{}),
	}
	for _, key := range []string{"port", "username", "password", "debug"} {
		if v := r.Text(prefix+key, ""); v != "" {
			m.Server.Set(key, v)
		}
	}
	for _, key := range []string{"to", "cc", "bcc"} {
		if list := addressList(r.Text(prefix+key, "")); len(list) > 0 {
			m.Message.Set(key, list)
		}
	}
	if file := r.Text(prefix+"body_template_file", ""); file != "" {
		if m.Body, err = noticeTemplate(file, pool); err != nil {
			return m, fmt.Errorf("configuration key %sbody_template_file: %w", prefix, err)
		}
	}
	return m, nil
}

func addressList(text string) []param.Value {
	var list []param.Value
	for part := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if part = strings.Trim(part, ` "`); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// noticeTemplate reads a template with `${message}` and the like. It is evaluated once, so that mistakes are found at
// startup, not when the notice is needed.
func noticeTemplate(file string, pool *evaluators.Pool) (func(*param.Map) (string, error), error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	body := func(fields *param.Map) (string, error) {
		return pool.Template(context.Background(), string(text), fields, expr.Scope{Zone: time.UTC, Now: time.Now()})
	}
	if _, err := body(notice.Fields(host.Notice{Message: "test"}, time.Now())); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return body, nil
}
