package aws

import (
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// AsMessage reads a message's body: text unchanged, everything else as JSON.
func AsMessage(_ string, v param.Value) (string, error) {
	if text, isText := v.(string); isText {
		return text, nil
	}
	return param.Text(v), nil
}

// Attribute is a message attribute in the format of SNS and SQS.
type Attribute struct{ Type, Text string }

// AsAttributes reads a message's attributes: numbers are numbers, lists and mappings are JSON, everything else is text.
func AsAttributes(key string, v param.Value) (map[string]Attribute, error) {
	m, err := param.AsMap(key, v)
	if err != nil {
		return nil, err
	}
	attributes := map[string]Attribute{}
	for name, v := range m.All() {
		a := Attribute{Type: "String"}
		switch v.(type) {
		case nil:
			continue
		case int64, float64:
			a.Type = "Number"
		}
		if a.Text, err = AsMessage(name, v); err != nil {
			return nil, err
		}
		if a.Text == "" {
			return nil, param.Errorf("%s: attribute '%s' is empty: AWS rejects attributes without a value", key, name)
		}
		attributes[name] = a
	}
	return attributes, nil
}

// Order holds the group and deduplication id for a FIFO queue or topic; both are empty for a standard one.
type Order struct{ Group, ID string }

// ReadOrder reads `group_id` and `deduplication_id` for a queue or topic with that name. The defaults are the task's
// name and its idempotency key: a message that another run of the task sends again arrives only once.
func ReadOrder(t *operators.Task, p *operators.Params, name string) (Order, error) {
	group, err := p.StringOr("group_id", "")
	if err != nil {
		return Order{}, err
	}
	id, err := p.StringOr("deduplication_id", "")
	if err != nil {
		return Order{}, err
	}
	if !strings.HasSuffix(name, ".fifo") {
		if group != "" || id != "" {
			return Order{}, param.Errorf("'group_id' and 'deduplication_id' are only for names that end with .fifo: %s", name)
		}
		return Order{}, nil
	}
	if group == "" {
		group = operators.Derived(t.ProjectName, t.Workflow, t.TaskName)
	}
	if id == "" {
		id = Name(t)
	}
	return Order{group, id}, nil
}
