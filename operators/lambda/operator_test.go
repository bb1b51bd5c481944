package lambda_test

import (
	"archive/zip"
	"bytes"
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/integration/localstack"
	ours "zerodag/operators/lambda"
	"zerodag/operators/operatortest"
)

const program = `
import time
def handler(event, context):
    if "sleep" in event:
        time.sleep(event["sleep"])
    if "fail" in event:
        raise ValueError(event["fail"])
    if "size" in event:
        return "x" * event["size"]
    return {"event": event, "n": 2}
`

// function creates a function whose responses depend on its event.
func function(t *testing.T) string {
	t.Helper()
	client := lambda.NewFromConfig(localstack.Config(t))
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	out, err := w.Create("main.py")
	if err == nil {
		_, err = out.Write([]byte(program))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	name := localstack.Name()
	_, err = client.CreateFunction(t.Context(), &lambda.CreateFunctionInput{FunctionName: &name, Runtime: types.RuntimePython313, Handler: new("main.handler"),
		Role: new("arn:aws:iam::000000000000:role/any"), Code: &types.FunctionCode{ZipFile: archive.Bytes()}, Timeout: new(int32(60))})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &name})
		return err
	})
	if err := lambda.NewFunctionActiveV2Waiter(client).Wait(t.Context(), &lambda.GetFunctionInput{FunctionName: &name}, time.Minute); err != nil {
		t.Fatal(err)
	}
	return name
}

func grant(_ *testing.T, w *operatortest.World) { maps.Copy(w.Vault, localstack.Secrets("lambda")) }

func TestExercise(t *testing.T) {
	t.Parallel()
	name := function(t)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good:     `{"_command": "` + name + `", "payload": {"a": 1}, "store_result": true, "async": false, "qualifier": "$LATEST"}`,
		Slow:     `{"_command": "` + name + `", "payload": {"sleep": 20}}`,
		Wrong:    []string{`{}`, `{"_command": ""}`, `{"_command": "f", "async": "x"}`, `{"_command": "f", "region": "Mars"}`},
		Prepare: func(t *testing.T, w *operatortest.World) {
			grant(t, w)
			if w.Local.Has("region") {
				delete(w.Vault, "aws.region")
			}
		},
	})
}

func TestInvoke(t *testing.T) {
	t.Parallel()
	name := function(t)
	for what, c := range map[string]struct {
		params string
		want   operatortest.Ended
		log    string
	}{
		"a result": {`"payload": {"a": [1, "ü"]}`, operatortest.Ended{Store: `{"lambda":{"last_result":{"event":{"a":[1,"ü"]},"n":2}}}`}, "REPORT RequestId"},
		"JSON":     {`"payload": " {\"a\": 2}"`, operatortest.Ended{Store: `{"lambda":{"last_result":{"event":{"a":2},"n":2}}}`}, ""},
		"no event": {`"store_result": true`, operatortest.Ended{Store: `{"lambda":{"last_result":{"event":{},"n":2}}}`}, ""},
		"unstored": {`"payload": {"size": 300000}, "store_result": false`, operatortest.Ended{}, ""},
		"too much": {`"payload": {"size": 300000}`, operatortest.Ended{Error: "lambda>: the result of function " + name +
			" is 300002 bytes, but at most 262144 can be stored: let it write to S3 and return the key, or set store_result: false"}, ""},
		"its error": {`"payload": {"fail": "no rows"}`, operatortest.Ended{Error: "lambda>: function " + name + " failed: no rows (ValueError)"}, ""},
		"async":     {`"payload": {"fail": "nobody hears it"}, "async": true`, operatortest.Ended{}, "Handed the event to " + name},
	} {
		w := operatortest.New(t, `{"_command": "`+name+`", `+c.params+`}`)
		grant(t, w)
		if diff := cmp.Diff(c.want, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if !strings.Contains(w.Output.String(), c.log) {
			t.Errorf("%s: the log lacks %q: %s", what, c.log, w.Output)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	w := operatortest.New(t, `{"_command": "nobody-made-this"}`)
	grant(t, w)
	want := operatortest.Ended{Error: "lambda>: can't invoke nobody-made-this: it does not exist: check its name, the account and the region"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, ours.Operator(), w)); diff != "" {
		t.Error(diff)
	}
}
