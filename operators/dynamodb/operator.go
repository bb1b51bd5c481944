// Package dynamodb implements `dynamodb>`: it reads and writes items of an Amazon DynamoDB table. Any agent may run it.
// Writes that are not safe to repeat use a token, so that a run that is delivered twice writes once.
package dynamodb

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
)

// Operator returns `dynamodb>`.
func Operator() operators.Operator {
	account := &aws.Account{}
	return operators.Operator{Name: "dynamodb", Summary: "reads and writes items of a DynamoDB table", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) { return run(ctx, account, t) }}
}

// action is an operation on a table.
type action struct {
	name  string
	needs string // the permission
	do    func(*request, context.Context) (operators.Result, error)
}

func actions() []action {
	return []action{
		{"get", "dynamodb:GetItem", (*request).get},
		{"put", "dynamodb:PutItem", (*request).put},
		{"update", "dynamodb:UpdateItem", (*request).update},
		{"delete", "dynamodb:DeleteItem", (*request).delete},
		{"query", "dynamodb:Query", (*request).query},
	}
}

// request is a task's request to a table.
type request struct {
	task      *operators.Task
	params    *operators.Params
	client    *dynamodb.Client
	action    string
	table     string
	names     map[string]string
	values    map[string]types.AttributeValue
	condition *string
}

func run(ctx context.Context, account *aws.Account, t *operators.Task) (operators.Result, error) {
	p, err := aws.Params(t, "dynamodb")
	if err != nil {
		return operators.Result{}, err
	}
	r := &request{task: t, params: p}
	if r.table, err = p.String("_command"); err != nil {
		return operators.Result{}, err
	}
	chosen, err := choose(p)
	if err != nil {
		return operators.Result{}, err
	}
	r.action = chosen.name
	if err := r.readExpressions(); err != nil {
		return operators.Result{}, err
	}
	c, err := account.Config(ctx, t, p, "dynamodb")
	if err != nil {
		return operators.Result{}, err
	}
	r.client = dynamodb.NewFromConfig(c)
	result, err := chosen.do(r, ctx)
	var config *param.ConfigError
	var plain *operators.Failure
	if err == nil || errors.As(err, &config) || errors.As(err, &plain) {
		return result, err
	}
	if aws.Code(err) == "ValidationException" {
		return result, invalid(r, err)
	}
	return result, aws.Call{Operator: "dynamodb", Doing: r.action + " in table " + r.table, Needs: chosen.needs}.Failure(ctx, err)
}

// invalid returns DynamoDB's error about an invalid expression or key.
func invalid(r *request, err error) error {
	var api smithy.APIError
	errors.As(err, &api) // it has a code
	return param.Errorf("dynamodb>: can't %s in table %s: %s", r.action, r.table, api.ErrorMessage())
}

func choose(p *operators.Params) (action, error) {
	var chosen []action
	for _, a := range actions() {
		if p.Has(a.name) {
			chosen = append(chosen, a)
		}
	}
	if len(chosen) != 1 {
		return action{}, param.Errorf("dynamodb> needs exactly one of 'get', 'put', 'update', 'delete' and 'query'")
	}
	return chosen[0], nil
}

// readExpressions reads what all expressions of a request share.
func (r *request) readExpressions() error {
	names, err := operators.ReadOr(r.params, "names", param.AsMap, nil)
	if err != nil {
		return err
	}
	for k, v := range names.All() {
		if r.names == nil {
			r.names = map[string]string{}
		}
		if r.names[placeholder("#", k)], err = param.AsString(k, v); err != nil {
			return err
		}
	}
	values, err := operators.ReadOr(r.params, "values", param.ParseMap, nil)
	if err != nil {
		return err
	}
	for k, v := range values.All() {
		if r.values == nil {
			r.values = map[string]types.AttributeValue{}
		}
		r.values[placeholder(":", k)] = attribute(v)
	}
	r.condition, err = r.text("condition")
	return err
}

// placeholder returns a name as it is written in expressions; the mark before it may be omitted.
func placeholder(mark, name string) string {
	if strings.HasPrefix(name, mark) {
		return name
	}
	return mark + name
}

// text reads optional text, nil for none.
func (r *request) text(key string) (*string, error) {
	text, err := r.params.StringOr(key, "")
	if err != nil || text == "" {
		return nil, err
	}
	return &text, nil
}

func (r *request) item(key string) (map[string]types.AttributeValue, error) {
	m, err := operators.Read(r.params, key, param.ParseMap)
	if err == nil && m.Len() == 0 {
		err = param.Errorf("'%s' is empty: write the key of the item", key)
	}
	if err != nil {
		return nil, err
	}
	return attributes(m), nil
}
