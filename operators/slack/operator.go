// Package slack implements `slack>`: it posts a message to Slack, through an incoming webhook or with the method
// chat.postMessage. Any agent may run it. It must open connections only through the task's client, never show a token
// or the address of a webhook, and never repeat a message that Slack may have accepted.
package slack

import (
	"context"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Operator returns `slack>`.
func Operator() operators.Operator {
	return operators.Operator{Name: "slack", Summary: "posts a message to Slack", Retries: true, Run: run}
}

func run(ctx context.Context, t *operators.Task) (operators.Result, error) {
	p, err := t.Params.WithDefaults("slack")
	if err != nil {
		return operators.Result{}, err
	}
	hook, err := webhook(t, p)
	if err != nil {
		return operators.Result{}, err
	}
	m, err := read(t, p, hook != "")
	if err != nil {
		return operators.Result{}, err
	}
	to, err := target(t, p, m, hook)
	if err != nil {
		return operators.Result{}, err
	}
	posted, err := to.post(ctx, t, m)
	if err != nil {
		return operators.Result{}, err
	}
	result := operators.Result{ResetStore: [][]string{{"slack", "last_message"}}}
	if posted.Len() > 0 {
		result.Store = param.New("slack", param.New("last_message", posted))
	}
	return result, nil
}

// Limits of a Slack message.
const (
	mostText        = 40000 // characters; Slack silently cuts longer text
	mostBlocks      = 50
	mostAttachments = 100
)

// read builds the message from the parameters, with Slack's names for its parts. With whole, the command is a template
// of the whole message.
func read(t *operators.Task, p *operators.Params, whole bool) (m *param.Map, err error) {
	if whole {
		m, err = payload(t, p)
	} else {
		m, err = message(t, p)
	}
	if err != nil {
		return nil, err
	}
	v, _ := m.Get("text")
	text, _ := v.(string)
	if n := len([]rune(text)); n > mostText {
		return nil, param.Errorf("'text' has %d characters, but Slack accepts %d: post a link to it", n, mostText)
	}
	if err := list(p, m, "blocks", mostBlocks); err != nil {
		return nil, err
	}
	if err := list(p, m, "attachments", mostAttachments); err != nil {
		return nil, err
	}
	if m.Len() == 0 {
		return nil, param.Errorf("slack> needs a message: a file, 'text', 'blocks' or 'attachments'")
	}
	for _, key := range []string{"channel", "thread_ts", "username", "icon_emoji", "icon_url"} {
		value, err := p.StringOr(key, "")
		if err != nil {
			return nil, err
		}
		if value != "" {
			m.Set(key, value)
		}
	}
	for _, key := range []string{"reply_broadcast", "mrkdwn", "unfurl_links", "unfurl_media"} {
		if !p.Has(key) {
			continue
		}
		value, err := p.BoolOr(key, false)
		if err != nil {
			return nil, err
		}
		m.Set(key, value)
	}
	return m, nil
}

// message returns a message with text, or an empty one.
func message(t *operators.Task, p *operators.Params) (*param.Map, error) {
	m := param.New()
	text, err := text(t, p)
	if text != "" {
		m.Set("text", text)
	}
	return m, err
}

// text returns a project file with `${...}` evaluated, or the parameter; "" for none.
func text(t *operators.Task, p *operators.Params) (string, error) {
	if !p.Has("_command") && !p.Has("text") {
		return "", nil
	}
	return t.CommandText(p, "text")
}

func list(p *operators.Params, m *param.Map, key string, most int) error {
	v, err := operators.ReadOr(p, key, param.ParseList, nil)
	if err != nil || len(v) == 0 {
		return err
	}
	if len(v) > most {
		return param.Errorf("'%s' has %d entries, but Slack accepts %d", key, len(v), most)
	}
	m.Set(key, v)
	return nil
}
