package athena

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/athena"
	"github.com/aws/aws-sdk-go-v2/service/athena/types"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/aws"
	"zerodag/operators/sql"
)

// query is a task's query.
type query struct {
	task    *operators.Task
	client  *athena.Client
	input   *athena.StartQueryExecutionInput
	wanted  sql.Wanted
	preview bool
}

func open(ctx context.Context, account *aws.Account, t *operators.Task) (*query, error) {
	p, err := params(t)
	if err != nil {
		return nil, err
	}
	q := &query{task: t}
	if q.wanted, err = sql.ReadWanted(p); err != nil {
		return nil, err
	}
	if err := q.wanted.Check(); err != nil {
		return nil, err
	}
	if q.preview, err = p.BoolOr("preview", false); err != nil {
		return nil, err
	}
	if q.input, err = input(t, p); err != nil {
		return nil, err
	}
	c, err := account.Config(ctx, t, p, "athena")
	if err != nil {
		return nil, err
	}
	q.client = athena.NewFromConfig(c)
	return q, nil
}

// params applies the defaults from `athena: {...}`, then those from `aws: {athena: {...}}`.
func params(t *operators.Task) (*operators.Params, error) {
	own, err := operators.ReadOr(t.Params, "athena", param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	with := *t
	with.Params = t.Params.Defaulted(own.Without("last_query", "last_results")) // these are not defaults
	return aws.Params(&with, "athena")
}

// longestReuse is the maximum age of a result that is reused.
const longestReuse = 7 * 24 * time.Hour

func input(t *operators.Task, p *operators.Params) (*athena.StartQueryExecutionInput, error) {
	text, err := t.CommandText(p, "query")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, param.Errorf("athena> has an empty query")
	}
	in := &athena.StartQueryExecutionInput{QueryString: &text, ClientRequestToken: new(aws.Name(t)), QueryExecutionContext: &types.QueryExecutionContext{}}
	output := ""
	for _, option := range []struct {
		key string
		set func(text string)
	}{
		{"database", func(text string) { in.QueryExecutionContext.Database = &text }},
		{"catalog", func(text string) { in.QueryExecutionContext.Catalog = &text }},
		{"workgroup", func(text string) { in.WorkGroup = &text }},
		{"output", func(text string) { output = text }},
	} {
		text, err := p.StringOr(option.key, "")
		if err != nil {
			return nil, err
		}
		if text != "" {
			option.set(text)
		}
	}
	if output != "" {
		if !strings.HasPrefix(output, "s3://") {
			return nil, param.Errorf("'output' should start with 's3://'. output=%s", output)
		}
		in.ResultConfiguration = &types.ResultConfiguration{OutputLocation: &output}
	}
	if in.ExecutionParameters, err = operators.ReadOr(p, "params", asLiterals, nil); err != nil {
		return nil, err
	}
	return in, reuse(p, in)
}

func reuse(p *operators.Params, in *athena.StartQueryExecutionInput) error {
	age, err := p.DurationOr("result_reuse", 0)
	if err != nil || age == 0 {
		return err
	}
	if age < time.Minute || age > longestReuse {
		return param.Errorf("Parameter 'result_reuse' must be from 1 minute to 7 days: %v", age)
	}
	in.ResultReuseConfiguration = &types.ResultReuseConfiguration{ResultReuseByAgeConfiguration: &types.ResultReuseByAgeConfiguration{
		Enabled: true, MaxAgeInMinutes: new(int32(age / time.Minute))}}
	return nil
}

// asLiterals reads the values for a query's question marks. Athena treats each as an expression, so text is quoted.
func asLiterals(key string, v param.Value) ([]string, error) {
	list, err := param.AsList(key, v)
	if err != nil {
		return nil, err
	}
	literals := make([]string, len(list))
	for i, value := range list {
		switch v := value.(type) {
		case nil:
			literals[i] = "NULL"
		case string:
			literals[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		case bool, int64, float64:
			literals[i] = param.Text(v)
		default:
			return nil, param.Errorf("%s: values must be text, numbers, true, false or null: %s", key, param.Text(v))
		}
	}
	return literals, nil
}
