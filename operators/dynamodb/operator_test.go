package dynamodb_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	ours "zerodag/operators/dynamodb"
	"zerodag/operators/operatortest"
)

// table makes a table with the key (p, s).
func table(t *testing.T) (string, *dynamodb.Client) {
	t.Helper()
	client := dynamodb.NewFromConfig(localstack.Config(t))
	name := localstack.Name()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: new("p"), AttributeType: "S"}, {AttributeName: new("s"), AttributeType: "N"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: new("p"), KeyType: "HASH"}, {AttributeName: new("s"), KeyType: "RANGE"}}})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		return err
	})
	if err := dynamodb.NewTableExistsWaiter(client).Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	return name, client
}

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("dynamodb")) }

// do runs a task. Its number is part of its identity.
func do(t *testing.T, table string, number int64, params string) operatortest.Ended {
	t.Helper()
	w := operatortest.New(t, `{"_command": "`+table+`", `+params+`}`)
	w.TaskID, w.SessionUUID = number, table // all tables share the tokens
	grant(t, w)
	return operatortest.RunOnce(t, ours.Operator(), w)
}

func TestExercise(t *testing.T) {
	t.Parallel()
	name, _ := table(t)
	command := `{"_command": "` + name + `", `
	wrong := []string{`{}`, `{"_command": "t"}`, `{"_command": "t", "get": {"p": 1}, "put": {"p": 1}}`}
	for what, c := range map[string]struct {
		good  string
		wrong []string
	}{
		"get":   {`"get": {"p": "a", "s": 1}, "consistent": true}`, []string{`{"_command": "t", "get": {}}`, `{"_command": "t", "get": "x"}`}},
		"put":   {`"put": {"p": "a", "s": 1, "v": {"list": [1, null, true]}}}`, []string{`{"_command": "t", "put": []}`}},
		"query": {`"query": "p = :p", "filter": "#v <> :p", "names": {"v": "v"}, "values": {"p": "a"}, "limit": 2, "descending": true, "consistent": true}`, []string{`{"_command": "t", "query": "p", "limit": 1001}`, `{"_command": "t", "query": "p", "values": 1}`}},
		"update": {`"update": {"p": "u", "s": 1}, "expression": "ADD n :one", "values": {"one": 1}, "condition": "attribute_not_exists(x)"}`,
			[]string{`{"_command": "t", "update": {"p": "a"}}`, `{"_command": "` + name + `", "update": {"p": "a"}, "expression": "nonsense"}`}},
		"delete": {`"delete": {"p": "d", "s": 1}}`, []string{`{"_command": "t", "delete": {}}`}},
	} {
		t.Run(what, func(t *testing.T) {
			operatortest.Exercise(t, operatortest.Subject{Operator: ours.Operator(), Good: command + c.good, Wrong: append(wrong, c.wrong...), Prepare: grant})
		})
	}
}

func TestItems(t *testing.T) {
	t.Parallel()
	name, client := table(t)
	steps := []struct {
		params string
		want   operatortest.Ended
	}{
		{`"get": {"p": "a", "s": 1}`, operatortest.Ended{Store: `{"dynamodb":{}}`}},
		{`"put": {"p": "a", "s": 1, "text": "ü", "n": -7, "f": 0.0001, "yes": true, "none": null, "list": [1, "x"], "map": {"k": 1.5}}`, operatortest.Ended{}},
		{`"get": {"p": "a", "s": 1}`, operatortest.Ended{Store: `{"dynamodb":{"last_item":{"f":1.0E-4,"list":[1,"x"],"map":{"k":1.5},"n":-7,"none":null,"p":"a","s":1,"text":"ü","yes":true}}}`}},
		{`"put": {"p": "a", "s": 1}, "condition": "attribute_not_exists(p)"`, operatortest.Ended{Error: "dynamodb>: can't put in table " + name +
			": the item does not meet the condition: attribute_not_exists(p)"}},
		{`"update": {"p": "a", "s": 1}, "expression": "SET #t = :t REMOVE #l, #m, f, n, #none", "names": {"none": "none", "#t": "text", "l": "list", "m": "map"}, "values": "{\":t\": \"new\"}"`, operatortest.Ended{}},
		{`"get": "{\"p\": \"a\", \"s\": 1}", "consistent": true`, operatortest.Ended{Store: `{"dynamodb":{"last_item":{"p":"a","s":1,"text":"new","yes":true}}}`}},
		{`"delete": {"p": "a", "s": 1}, "condition": "yes = :no", "values": {"no": false}`, operatortest.Ended{Error: "dynamodb>: can't delete in table " + name +
			": the item does not meet the condition: yes = :no"}},
		{`"delete": {"p": "a", "s": 1}`, operatortest.Ended{}},
		{`"get": {"p": "a", "s": 1}`, operatortest.Ended{Store: `{"dynamodb":{}}`}},
	}
	for i, s := range steps {
		if diff := cmp.Diff(s.want, do(t, name, int64(i), s.params)); diff != "" {
			t.Errorf("step %d, %s: %s", i, s.params, diff)
		}
	}
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberS{Value: "sets"}, "s": &types.AttributeValueMemberN{Value: "12345678901234567890.5"},
		"ss": &types.AttributeValueMemberSS{Value: []string{"b", "a"}}, "b": &types.AttributeValueMemberB{Value: []byte("xyz")}}})
	if err != nil {
		t.Fatal(err)
	}
	want := operatortest.Ended{Store: `{"dynamodb":{"last_items":[{"b":"eHl6","p":"sets","s":"12345678901234567890.5","ss":["a","b"]}],"last_count":1}}`}
	if diff := cmp.Diff(want, do(t, name, 99, `"query": "p = :p", "values": {"p": "sets"}`)); diff != "" {
		t.Error(diff)
	}
}

// TestOnce checks that a task that is delivered twice has its effect once, even if its parameters were evaluated to
// different values, and that another task has the effect again.
func TestOnce(t *testing.T) {
	t.Parallel()
	name, _ := table(t)
	add := `"update": {"p": "a", "s": 1}, "expression": "ADD n :x", "values": {"x": %d}`
	create := `"put": {"p": "b", "s": 1}, "condition": "attribute_not_exists(p)"`
	for _, step := range []struct {
		task   int64
		params string
	}{{1, fmt.Sprintf(add, 1)}, {1, fmt.Sprintf(add, 1)}, {1, fmt.Sprintf(add, 100)}, {2, fmt.Sprintf(add, 1)}, {3, create}, {3, create}} {
		if diff := cmp.Diff(operatortest.Ended{}, do(t, name, step.task, step.params)); diff != "" {
			t.Errorf("task %d: %s", step.task, diff)
		}
	}
	want := operatortest.Ended{Store: `{"dynamodb":{"last_item":{"n":2,"p":"a","s":1}}}`}
	if diff := cmp.Diff(want, do(t, name, 9, `"get": {"p": "a", "s": 1}`)); diff != "" {
		t.Error(diff)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	name, client := table(t)
	for first := 0; first < 1001; first += 25 {
		var batch []types.WriteRequest
		for i := first; i < min(first+25, 1001); i++ {
			batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
				"p": &types.AttributeValueMemberS{Value: "a"}, "s": &types.AttributeValueMemberN{Value: fmt.Sprint(i)}}}})
		}
		if _, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{name: batch}}); err != nil {
			t.Fatal(err)
		}
	}
	for params, want := range map[string]operatortest.Ended{
		`"query": "p = :p AND s < :s", "values": {"p": "a", "s": 2}`:                               {Store: `{"dynamodb":{"last_items":[{"p":"a","s":0},{"p":"a","s":1}],"last_count":2}}`},
		`"query": "p = :p", "values": {"p": "a"}, "limit": 1, "descending": true`:                  {Store: `{"dynamodb":{"last_items":[{"p":"a","s":1000}],"last_count":1}}`},
		`"query": "p = :p", "filter": "attribute_not_exists(x)", "values": {"p": "a"}, "limit": 1`: {Store: `{"dynamodb":{"last_items":[{"p":"a","s":0}],"last_count":1}}`},
		`"query": "p = :p", "values": {"p": "none"}`:                                               {Store: `{"dynamodb":{"last_items":[],"last_count":0}}`},
		`"query": "p = :p", "values": {"p": "a"}`: {Error: "dynamodb>: the query of table " + name +
			" finds more than 1000 items or 262144 bytes: set 'limit', or narrow the query"},
	} {
		if diff := cmp.Diff(want, do(t, name, 1, params)); diff != "" {
			t.Errorf("%s: %s", params, diff)
		}
	}
	w := operatortest.New(t, `{"_command": "`+name+`", "query": "p = :p AND s < :s", "values": {"p": "a", "s": 1000}}`)
	grant(t, w)
	result, err := ours.Operator().Run(t.Context(), &w.Task)
	if n, _ := result.Store.Map("dynamodb").Get("last_count"); err != nil || n != int64(1000) {
		t.Errorf("1000 items are allowed, got %s, %v", param.Text(n), err)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	for _, params := range []string{`"get": {"p": "a"}`, `"put": {"p": "a"}`, `"query": "p = :p", "values": {"p": 1}`, `"update": {"p": "a"}, "expression": "SET x = :x", "values": {"x": 1}`} {
		action, _, _ := strings.Cut(params[1:], `"`)
		want := operatortest.Ended{Error: "dynamodb>: can't " + action + " in table nobody-made-this: it does not exist: check its name, the account and the region"}
		if diff := cmp.Diff(want, do(t, "nobody-made-this", 1, params)); diff != "" {
			t.Error(diff)
		}
	}
}
