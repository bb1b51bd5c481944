package stepfunctions_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/integration/localstack"
	"zerodag/operators"
	"zerodag/operators/operatortest"
	ours "zerodag/operators/stepfunctions"
)

// The machines of the tests.
const (
	passes = `{"StartAt": "P", "States": {"P": {"Type": "Pass", "End": true}}}`
	fails  = `{"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "NoRows", "Cause": "the table is empty"}}}`
	waits  = `{"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 300, "End": true}}}`
)

// machine creates a state machine and returns its ARN.
func machine(t *testing.T, definition string) (string, *sfn.Client) {
	t.Helper()
	client := sfn.NewFromConfig(localstack.Config(t))
	out, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: new(localstack.Name()), Definition: &definition,
		RoleArn: new("arn:aws:iam::000000000000:role/any")})
	if err != nil {
		t.Fatal(err)
	}
	localstack.Cleanup(t, func(ctx context.Context) error {
		_, err := client.DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: out.StateMachineArn})
		return err
	})
	return *out.StateMachineArn, client
}

func grant(_ *testing.T, w *operatortest.World) {
	maps.Copy(w.Vault, localstack.Secrets("step_functions"))
}

// world returns a task for a machine, with an attempt that no other test uses.
func world(t *testing.T, arn, params string) *operatortest.World {
	t.Helper()
	w := operatortest.New(t, `{"_command": "`+arn+`"`+params+`}`)
	w.SessionUUID = arn
	grant(t, w)
	return w
}

func look(t *testing.T, w *operatortest.World) *operators.Later {
	t.Helper()
	return operatortest.Look(t, ours.Operator(), w)
}

// untilDone polls until the execution has ended. Time passes only between polls.
func untilDone(t *testing.T, w *operatortest.World) operatortest.Ended {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		result, err := ours.Operator().Run(t.Context(), &w.Task)
		var later *operators.Later
		if !errors.As(err, &later) {
			if err != nil {
				return operatortest.RunOnce(t, ours.Operator(), w)
			}
			return operatortest.Ended{Store: param.Text(result.Store)}
		}
		w.State = later.State
	}
	t.Fatal("the execution does not end within a minute")
	return operatortest.Ended{}
}

func executions(t *testing.T, client *sfn.Client, arn string) []types.ExecutionListItem {
	t.Helper()
	out, err := client.ListExecutions(t.Context(), &sfn.ListExecutionsInput{StateMachineArn: &arn})
	if err != nil {
		t.Fatal(err)
	}
	return out.Executions
}

func TestExercise(t *testing.T) {
	t.Parallel()
	arn, _ := machine(t, passes)
	operatortest.Exercise(t, operatortest.Subject{
		Operator: ours.Operator(),
		Good:     `{"_command": "` + arn + `", "input": {"a": 1}, "store_output": true}`,
		Wrong:    []string{`{}`, `{"_command": "name"}`, `{"_command": "arn:aws:lambda:us-east-1:0:function:f"}`, `{"_command": "` + arn + `", "store_output": "x"}`},
		Prepare:  grant,
	})
}

func TestSucceeds(t *testing.T) {
	t.Parallel()
	arn, _ := machine(t, passes)
	want := operatortest.Ended{Store: `{"step_functions":{"last_output":{"a":[1,"ü"]}}}`}
	for i, input := range []string{`{"a": [1, "ü"]}`, `"{\"a\": [1, \"ü\"]}"`} {
		w := world(t, arn, `, "input": `+input)
		w.TaskID = int64(i)
		if diff := cmp.Diff(want, untilDone(t, w)); diff != "" {
			t.Errorf("%s: %s", input, diff)
		}
	}
}

// TestFails checks that an execution's error becomes the task's, and that another try of the task starts another
// execution.
func TestFails(t *testing.T) {
	t.Parallel()
	arn, client := machine(t, fails)
	w := world(t, arn, "")
	got := untilDone(t, w)
	if !strings.HasSuffix(got.Error, "ended as FAILED: NoRows: the table is empty") || got.Kind != "" {
		t.Errorf("got %+v", got)
	}
	w.State = param.New("retry_count", int64(1)) // as `_retry` leaves it
	if again := untilDone(t, w); again.Error == got.Error || !strings.HasSuffix(again.Error, "ended as FAILED: NoRows: the table is empty") {
		t.Errorf("another try: %+v", again)
	}
	if n := len(executions(t, client, arn)); n != 2 {
		t.Errorf("there were %d executions, want one for each try", n)
	}
}

// TestStartsOnce checks that one execution starts if the first run is delivered several times, even if the execution
// has ended or its input was evaluated to different values in the meantime.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	arn, client := machine(t, passes)
	first := look(t, world(t, arn, `, "input": 1`))
	w := world(t, arn, `, "input": 1`)
	w.State = first.State
	if got := untilDone(t, w); got.Error != "" {
		t.Fatal(got)
	}
	for _, input := range []string{"1", "2"} {
		again := look(t, world(t, arn, `, "input": `+input))
		if diff := cmp.Diff(param.Text(first.State), param.Text(again.State)); diff != "" {
			t.Error(diff)
		}
	}
	if n := len(executions(t, client, arn)); n != 1 {
		t.Errorf("there were %d executions, want 1", n)
	}
}

// TestLooks checks how long the task waits between polls.
func TestLooks(t *testing.T) {
	t.Parallel()
	arn, client := machine(t, waits)
	w := world(t, arn, "")
	defer func() {
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}()
	operatortest.Waits(t, ours.Operator(), w, 2, 4, 8, 16, 32, 60, 60)
	if n := len(executions(t, client, arn)); n != 1 {
		t.Errorf("there were %d executions, want 1", n)
	}
}

// TestKill checks that an execution is stopped, even by a run that has no record of its start, and that a kill without
// an execution succeeds.
func TestKill(t *testing.T) {
	t.Parallel()
	arn, client := machine(t, waits)
	w := world(t, arn, "")
	if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
		t.Errorf("nothing to stop: %v", err)
	}
	look(t, w) // its state is lost
	for range 2 {
		if err := ours.Operator().Clean(t.Context(), &w.Task); err != nil {
			t.Error(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		list := executions(t, client, arn)
		if len(list) == 1 && list[0].Status == types.ExecutionStatusAborted {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the execution was not stopped: %+v", list)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	localstack.Config(t)
	const arn = "arn:aws:states:us-east-1:000000000000:stateMachine:nobody-made-this"
	want := operatortest.Ended{Error: "step_functions>: can't start " + arn + ": it does not exist: check its name, the account and the region"}
	if diff := cmp.Diff(want, operatortest.RunOnce(t, ours.Operator(), world(t, arn, ""))); diff != "" {
		t.Error(diff)
	}
}
