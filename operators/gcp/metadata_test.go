package gcp

import (
	"testing"

	"zerodag/engine/param"
)

// TestMetadata checks that the values stored from an object are those that Digdag 0.10.6-SNAPSHOT stores from the same
// response: Digdag's own classes wrote the expected text.
func TestMetadata(t *testing.T) {
	t.Parallel()
	const (
		answer = `{"kind":"storage#object","id":"b/o/1","name":"o","bucket":"b","generation":"1477466841081000","metageneration":"1","componentCount":3,"contentType":"text/plain",` +
			`"timeCreated":"2016-10-26T07:27:21.070Z","updated":"2016-10-26T07:27:21.070+09:00","timeStorageClassUpdated":"2016-10-26T07:27:21Z","size":"4711",` +
			`"customTime":"2016-10-26T07:27:21.070Z","timeFinalized":"2016-10-26T07:27:21.070Z","metadata":{"size":"large"},"eventBasedHold":false,` +
			`"retentionExpirationTime":"2016-10-26T07:27:21.070Z","owner":{"entity":"x"}}`
		stored = `{"bucket":"b","componentCount":3,"contentType":"text/plain","eventBasedHold":false,"generation":1477466841081000,"id":"b/o/1","kind":"storage#object",` +
			`"metadata":{"size":"large"},"metageneration":1,"name":"o","owner":{"entity":"x"},"retentionExpirationTime":{"value":1477466841070,"dateOnly":false,"timeZoneShift":0},"size":4711,` +
			`"timeCreated":{"value":1477466841070,"dateOnly":false,"timeZoneShift":0},"timeStorageClassUpdated":{"value":1477466841000,"dateOnly":false,"timeZoneShift":0},` +
			`"updated":{"value":1477434441070,"dateOnly":false,"timeZoneShift":540},"customTime":"2016-10-26T07:27:21.070Z","timeFinalized":"2016-10-26T07:27:21.070Z"}`
	)
	read := func(text string) *param.Map {
		v, err := param.ParseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		return v.(*param.Map)
	}
	if got := metadata(read(answer)); !param.Equal(got, read(stored)) {
		t.Errorf("got  %s\nwant %s", param.Text(got), stored)
	}
}
