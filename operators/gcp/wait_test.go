package gcp_test

import (
	"strings"
	"testing"

	"zerodag/integration/fake"
	"zerodag/operators/operatortest"
)

// TestWait checks that the request for an object equals Digdag's for each way to name the object, and that the stored
// numbers and times have Digdag's formats.
func TestWait(t *testing.T) {
	t.Parallel()
	const stored = `{"gcs_wait":{"last_object":{"metadata":{"kind":"storage#object","id":"my-bucket/a/ü b?.csv/1477466841081000","name":"a/ü b?.csv","bucket":"my-bucket",` +
		`"generation":1477466841081000,"metageneration":1,"contentType":"text/plain","timeCreated":{"value":1477466841070,"dateOnly":false,"timeZoneShift":0},` +
		`"updated":{"value":1477466841070,"dateOnly":false,"timeZoneShift":0},"storageClass":"STANDARD","size":10,"crc32c":"c95fcf77","metadata":{"size":"large"}}}}}`
	for _, params := range []string{
		`{"_command": "my-bucket/a/ü b?.csv"}`,
		`{"_command": "gs://my-bucket/a/ü b?.csv"}`,
		`{"bucket": "my-bucket", "object": "a/ü b?.csv"}`,
		`{"gcs": {"bucket": "my-bucket"}, "object": "a/ü b?.csv"}`,
	} {
		b := newBed(t)
		w := b.world(t, params)
		operatortest.Waits(t, operator(t, "gcs_wait"), w, 5, 5, 5, 8, 16, 30, 30)
		b.PutObject("my-bucket", "a/ü b?.csv", "hello gcs!")
		got := operatortest.UntilDone(t, operator(t, "gcs_wait"), w)
		if got.Store != stored || got.Error != "" {
			t.Errorf("%s: %+v", params, got)
		}
		for _, line := range b.sent() {
			same(t, "GET /storage/v1/b/my-bucket/o/a%2F%C3%BC%20b%3F.csv", line)
		}
	}
}

// TestWaitFaults checks that the request is retried after a temporary failure, with growing pauses that start again
// after a response, and that a permanent error fails the task at once with Google's message.
func TestWaitFaults(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, `{"_command": "b/o"}`)
	for _, fault := range []fake.Fault{fake.Throttled, fake.Limited, fake.Broken, fake.Away, fake.Cut, fake.Lost, fake.Half} {
		b.Fail(fake.Faults{Every: fault, Path: "/storage/"})
		operatortest.Waits(t, operator(t, "gcs_wait"), w, 1, 2, 4, 8, 16, 30, 30)
		b.Fail(fake.Faults{})
		w.State = operatortest.Look(t, operator(t, "gcs_wait"), w).State
	}
	b.Fail(fake.Faults{Every: fake.Throttled, Path: "/storage/", After: "90"})
	operatortest.Waits(t, operator(t, "gcs_wait"), w, 90)
	b.Fail(fake.Faults{Every: fake.Broken, Path: "/token"})
	operatortest.Waits(t, operator(t, "gcs_wait"), w, 2)
	b.Fail(fake.Faults{Every: fake.Nonsense, Path: "/storage/"})
	w = b.world(t, `{"_command": "b/o"}`)
	operatortest.Waits(t, operator(t, "gcs_wait"), w, 1, 2, 4)
	got := operatortest.UntilDone(t, operator(t, "gcs_wait"), w)
	if !strings.HasPrefix(got.Error, "Operation failed: the response of Google to /storage/v1/b/b/o/o cannot be read: ") {
		t.Errorf("%+v", got)
	}
}
