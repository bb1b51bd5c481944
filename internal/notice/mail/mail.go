// Package mail sends a server's notices by SMTP, in the same way as `mail>`.
//
// It is separate from package notice because a Lambda function on AWS sends notices but has neither mail nor an
// operator for it.
package mail

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/mail"
)

// Sender implements notice.Sender.
type Sender struct {
	// Server holds host, port, username, password, tls and ssl, as "config.mail." does.
	Server *param.Map
	// Message holds from, to, cc, bcc, subject and html.
	Message *param.Map
	// Body writes the text; nil means one line per field.
	Body func(fields *param.Map) (string, error)
	// Subject writes the subject; nil means the subject in Message.
	Subject func(fields *param.Map) string
}

// Send implements notice.Sender.
func (m Sender) Send(ctx context.Context, fields *param.Map) (string, error) {
	body := m.Body
	if body == nil {
		body = lines
	}
	text, err := body(fields)
	if err != nil {
		return "", fmt.Errorf("write notification: %w", err)
	}
	message := m.Message
	if m.Subject != nil {
		message = param.Merge(message, param.New("subject", m.Subject(fields)))
	}
	t := &operators.Task{
		Params:   operators.NewParams(param.Merge(message, param.New("_command", param.New("data", text)))),
		Config:   param.New("mail", m.Server),
		State:    param.New(),
		Secrets:  noSecrets{},
		Template: func(text string) (string, error) { return text, nil },
		Now:      time.Now(),
	}
	if _, err = mail.Operator().Run(ctx, t); err != nil {
		return "", err
	}
	return "the mail server accepted the message", nil
}

// title is the first line of an e-mail.
const title = "Digdag Notification"

// lines returns the body of an e-mail the way Digdag writes it: a title, what happened, and where.
func lines(fields *param.Map) (string, error) {
	text := []string{title, ""}
	for _, line := range [][2]string{{"Message", "message"}, {"Date", "timestamp"}, {}, {"Site Id", "site_id"}, {"Project Name", "project_name"},
		{"Project Id", "project_id"}, {"Workflow Name", "workflow_name"}, {"Revision", "revision"}, {"Attempt Id", "attempt_id"},
		{"Session Id", "session_id"}, {"Task Name", "task_name"}, {"Time Zone", "timezone"}, {"Session Uuid", "session_uuid"},
		{"Session Time", "session_time"}} {
		if line[0] == "" {
			text = append(text, "")
			continue
		}
		v, _ := fields.Get(line[1])
		value, isText := v.(string)
		if !isText && v != nil {
			value = param.Text(v)
		}
		text = append(text, line[0]+": "+value)
	}
	text = append(text, failure(fields)...)
	if link, _ := fields.Get("url"); link != nil {
		text = append(text, "", fmt.Sprint("Console: ", link))
	}
	return strings.Join(text, "\n"), nil
}

// failure describes the failure, if known.
func failure(fields *param.Map) []string {
	field := func(key string) string {
		v, _ := fields.Get(key)
		text, _ := v.(string)
		return text
	}
	if field("failed_task") == "" {
		return nil
	}
	text := []string{"", "Failed Task: " + field("failed_task"), "Error: " + field("error")}
	all, _ := fields.Get("failed_tasks")
	tasks, _ := all.([]param.Value)
	for i, v := range tasks {
		if i == 0 {
			text = append(text, "All Failed Tasks:")
		}
		if t, ok := v.(*param.Map); ok {
			task, _ := t.Get("task")
			message, _ := t.Get("message")
			text = append(text, fmt.Sprintf("  %v: %v", task, message))
		}
	}
	if lines := field("last_lines"); lines != "" {
		text = append(text, "Last Lines:", "  "+strings.ReplaceAll(lines, "\n", "\n  "))
	}
	return append(text, "Resume: "+field("resume"))
}

// noSecrets holds no secrets: the settings of a notice are in the server's configuration.
type noSecrets struct{}

func (noSecrets) Get(string) (string, bool, error)          { return "", false, nil }
func (noSecrets) GetUnmounted(string) (string, bool, error) { return "", false, nil }
