package slack

import (
	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// webhookParameter is the webhook parameter of tasks for Digdag's plugin digdag-slack. The command of such a task is a
// template of everything that is posted, not only of the text.
const webhookParameter = "webhook_url"

// webhook returns the address in the parameter, with its secrets replaced; "" for none.
func webhook(t *operators.Task, p *operators.Params) (string, error) {
	if !p.Has(webhookParameter) {
		return "", nil
	}
	written, err := p.String(webhookParameter)
	if err != nil {
		return "", err
	}
	address, err := t.SecretText(written)
	if err != nil {
		return "", err
	}
	return address, checkAddress("'"+webhookParameter+"'", address, true)
}

// payload reads the template of a whole message, in YAML or JSON. Plain text becomes the message's text.
func payload(t *operators.Task, p *operators.Params) (*param.Map, error) {
	alias := "message"
	if !p.Has(alias) {
		alias = "text"
	}
	if !p.Has("_command") && !p.Has(alias) {
		return param.New(), nil
	}
	written, err := t.CommandText(p, alias)
	if err != nil {
		return nil, err
	}
	name, err := p.StringOr("_command", "the payload")
	if err != nil {
		name = "the payload"
	}
	v, err := dig.ParseYAML(name, []byte(written))
	if err != nil {
		return nil, param.Errorf("slack> with '%s' posts a payload in YAML or JSON: %v", webhookParameter, err)
	}
	switch x := v.(type) {
	case *param.Map:
		if !x.Has("text") && !x.Has("attachments") && !x.Has("blocks") {
			return nil, param.Errorf("%s has neither 'text' nor 'attachments' nor 'blocks': Slack rejects such payloads", name)
		}
		return x, nil
	case string:
		return param.New("text", written), nil
	}
	return nil, param.Errorf("%s is not a mapping: slack> with '%s' posts a payload in YAML or JSON", name, webhookParameter)
}
