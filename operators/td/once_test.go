package td_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"zerodag/engine/param"
	"zerodag/integration/fake"
	"zerodag/operators/operatortest"
)

// TestStartsOnce checks that nothing is sent before the key is stored, and that one job starts even if that run is
// delivered several times.
func TestStartsOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, `{"query": "select 1"}`)
	intent := operatortest.Look(t, operator(t, "td"), w)
	if n := len(b.Requests()); n != 0 || intent.After != 0 {
		t.Fatalf("%d requests before the key is kept, next run after %v", n, intent.After)
	}
	states := map[string]bool{}
	for range 3 {
		w.State = intent.State
		states[param.Text(operatortest.Look(t, operator(t, "td"), w).State)] = true
	}
	if len(states) != 1 || len(b.Jobs()) != 1 {
		t.Errorf("%d jobs, states %v", len(b.Jobs()), states)
	}
	other := b.world(t, `{"query": "select 1"}`)
	if operatortest.UntilDone(t, operator(t, "td"), other); len(b.Jobs()) != 2 {
		t.Error("another task found the job of this one")
	}
}

// TestFaults checks that one job runs, and its rows arrive, despite any fault in any request.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []fake.Fault{fake.Throttled, fake.Broken, fake.Cut, fake.Lost, fake.Half, fake.Slow, fake.Nonsense} {
		for n := range 7 {
			b := newBed(t)
			w := b.world(t, `{"query": "select 1", "insert_into": "new_table"}`)
			want := `{"td":{"last_job_id":"1001","last_job":{"id":"1001","num_records":0}}}`
			if n%2 == 0 {
				w = b.world(t, "{"+script(table)+`, "store_last_results": true, "download_file": "f.csv"}`)
				want = `"last_job_id":"1001","last_job":{"id":"1001","num_records":2}}}`
			}
			b.Fail(fake.Faults{At: map[int]fake.Fault{n: fault}})
			if got := operatortest.UntilDone(t, operator(t, "td"), w); !strings.HasSuffix(got.Store, want) || len(b.Jobs()) != 1 {
				t.Errorf("%s at request %d: %d jobs, %+v", fault, n, len(b.Jobs()), got)
			}
		}
	}
	for seed := range uint64(20) {
		b := newBed(t)
		w := b.world(t, "{"+script(table)+`, "insert_into": "new_table", "preview": true, "store_last_results": true}`)
		b.Fail(fake.Faults{Rate: 0.4, Seed: seed})
		got := operatortest.UntilDone(t, operator(t, "td"), w)
		if got.Error != "" || len(b.Jobs()) != 2 { // the other job is the preview's
			t.Errorf("seed %d: %d jobs, %+v", seed, len(b.Jobs()), got)
		}
	}
}

// TestResultIsNoReasonToRunAgain checks that `_retry` never repeats a query that has succeeded.
func TestResultIsNoReasonToRunAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"raw": "no gzip"}`)+`, "store_last_results": true}`)
	for try := range 2 {
		got := operatortest.UntilDone(t, operator(t, "td"), w)
		const want = "[INVALID_JSON_RESPONSE] the response of Treasure Data to /v3/job/result/1001 cannot be read: it is not compressed with gzip: "
		if !strings.HasPrefix(got.Error, want) {
			t.Errorf("got %+v", got)
		}
		w.State = w.State.Without("commandStatus").Clone()
		w.State.Set("retry_count", int64(try+1))
	}
	if n := len(b.Jobs()); n != 1 {
		t.Errorf("there were %d jobs", n)
	}
}

// TestUnknownStart checks that `_retry` finds the job of a try whose responses were unreadable.
func TestUnknownStart(t *testing.T) {
	t.Parallel()
	for _, fault := range []fake.Fault{fake.Nonsense, fake.HugeHeader} {
		b := newBed(t)
		w := b.world(t, `{"query": "select 1"}`)
		b.Fail(fake.Faults{Every: fault})
		if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error == "" {
			t.Errorf("%s: %+v", fault, got)
		}
		b.Fail(fake.Faults{})
		w.State = w.State.Without("commandStatus").Clone()
		w.State.Set("retry_count", int64(1))
		if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "" || len(b.Jobs()) != 1 {
			t.Errorf("%s: %d jobs, %+v", fault, len(b.Jobs()), got)
		}
	}
}

// TestAsksLater checks that a response may set the time of the next request, and that no task waits longer than a few
// minutes because of it. The pauses grow with every consecutive failure, and start again after a success.
func TestAsksLater(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, "{"+script(`{"looks": 9}`)+"}")
	w.State = operatortest.Look(t, operator(t, "td"), w).State
	b.Fail(fake.Faults{Every: fake.Throttled, After: "90"})
	operatortest.Waits(t, operator(t, "td"), w, 90, 90)
	b.Fail(fake.Faults{Every: fake.Throttled, After: "86400"})
	operatortest.Waits(t, operator(t, "td"), w, 300)
	b.Fail(fake.Faults{Every: fake.Broken, After: "soon"})
	operatortest.Waits(t, operator(t, "td"), w, 8, 16, 30)
	b.Fail(fake.Faults{})
	operatortest.Waits(t, operator(t, "td"), w, 1, 1)
	b.Fail(fake.Faults{Every: fake.Cut})
	operatortest.Waits(t, operator(t, "td"), w, 1, 2)
}

// TestHostile checks that an unusable response eventually fails the task with one message.
func TestHostile(t *testing.T) {
	t.Parallel()
	for fault, want := range map[fake.Fault]string{
		fake.Nonsense:   "[INVALID_JSON_RESPONSE] the response of Treasure Data to /v3/job/issue/presto/sample_datasets cannot be read: it is not the expected JSON: invalid character '<' looking for beginning of value (td client)",
		fake.HugeHeader: "Treasure Data is not responding: POST /v3/job/issue/presto/sample_datasets: the headers of the response exceed 1048576 bytes (td client)",
	} {
		b := newBed(t)
		b.Fail(fake.Faults{Every: fault})
		same(t, operatortest.Ended{Error: want}, operatortest.UntilDone(t, operator(t, "td"), b.world(t, `{"query": "select 1"}`)))
	}
}

// TestKill checks that a job is ended, even if its number is lost, and that no request is sent if nothing had started.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		b := newBed(t)
		o := operator(t, "td")
		w := b.world(t, "{"+script(`{"looks": 100}`)+"}")
		for range 2 {
			if err := o.Clean(t.Context(), &w.Task); err != nil || len(b.Jobs()) != 0 {
				t.Errorf("nothing to stop: %v, %+v", err, b.Jobs())
			}
			w.State = operatortest.Look(t, o, w).State
		}
		if lost {
			w.State = param.New("commandStatus", w.State.Map("commandStatus").Without("jobId"))
		}
		b.Fail(fake.Faults{At: map[int]fake.Fault{len(b.Requests()) + 1: fake.Lost}})
		for range 2 {
			if err := o.Clean(t.Context(), &w.Task); err != nil {
				t.Error(err)
			}
		}
		if jobs := b.Jobs(); len(jobs) != 1 || jobs[0].Status != "killed" {
			t.Errorf("lost %v: %+v", lost, jobs)
		}
	}
	b := newBed(t)
	w := b.world(t, `{"query": "select 1"}`)
	w.State = operatortest.Look(t, operator(t, "td"), w).State
	w.State = operatortest.Look(t, operator(t, "td"), w).State
	b.SetKey("another")
	if err := operator(t, "td").Clean(t.Context(), &w.Task); err == nil || !strings.Contains(err.Error(), "[401:Unauthorized]") {
		t.Errorf("a kill that is refused says %v", err)
	}
}

// TestLargeResult checks that a task's memory use does not grow with its result: the heap stays small while a million
// rows pass through, or as many as ZERODAG_ROWS says.
func TestLargeResult(t *testing.T) {
	rows := 1_000_000
	if text := os.Getenv("ZERODAG_ROWS"); text != "" {
		rows, _ = strconv.Atoi(text)
	}
	b := newBed(t)
	row := `["abcdefghij", 12345, null, 1.5]`
	w := b.world(t, "{"+script(fmt.Sprintf(`{"columns": [["a", "varchar"], ["b", "bigint"], ["c", "bigint"], ["d", "double"]], "rows": [%s], "times": %d}`, row, rows))+
		`, "download_file": "f.csv"}`)
	most := heapWhile(t, func() {
		if got := operatortest.UntilDone(t, operator(t, "td"), w); got.Error != "" {
			t.Error(got.Error)
		}
	})
	if most > 64<<20 {
		t.Errorf("the heap grew to %d MiB", most>>20)
	}
	if got, want := sizeOf(t, w, "f.csv"), int64(len("a,b,c,d\r\n")+rows*len("abcdefghij,12345,,1.5\r\n")); got != want {
		t.Errorf("the file is %d bytes, want %d", got, want)
	}
}

// TestEndOfContext checks that a kill that arrives during a call leaves a state from which the job can be ended,
// whether or not the service has started it by then, and that a run whose time has run out reports this.
func TestEndOfContext(t *testing.T) {
	t.Parallel()
	o := operator(t, "td")
	for _, afterwards := range []bool{false, true} {
		b := newBed(t)
		w := b.world(t, "{"+script(`{"looks": 9}`)+"}")
		w.State = operatortest.Look(t, o, w).State
		ctx, kill := context.WithCancel(t.Context())
		defer kill()
		b.OnRequest(func(n int, _ fake.Request, answered bool) {
			if n == 1 && answered == afterwards {
				kill()
			}
		})
		b.Fail(fake.Faults{At: map[int]fake.Fault{1: fake.Lost}})
		if _, err := o.Run(ctx, &w.Task); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := o.Clean(t.Context(), &w.Task); err != nil || len(b.Jobs()) != 1 || b.Jobs()[0].Status != "killed" {
			t.Errorf("afterwards %v: %v, %+v", afterwards, err, b.Jobs())
		}
	}
	b := newBed(t)
	w := b.world(t, `{"query": "select 1"}`)
	w.State = operatortest.Look(t, o, w).State
	ctx, over := context.WithTimeout(t.Context(), time.Nanosecond)
	defer over()
	if _, err := o.Run(ctx, &w.Task); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
