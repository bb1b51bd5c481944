package dynamo_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/dynamo"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// noted records which blobs are written, and in which order relative to other writes.
type noted struct {
	table.Blobs
	mu   sync.Mutex
	keys []string
	fail error
}

func (n *noted) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	n.mu.Lock()
	n.keys = append(n.keys, key)
	n.mu.Unlock()
	if n.fail != nil {
		return n.fail
	}
	return n.Blobs.Put(ctx, key, r, size)
}

// random returns bytes that compression does not make smaller.
func random(n int) []byte {
	b, x := make([]byte, n), uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func startOne(t testing.TB, db *dynamo.DB) host.Attempt {
	t.Helper()
	list, err := db.Start(t.Context(), newAttempt(pushed(t, db, "r1", 1), 0, ""))
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// TestLargeParts proves that a body of more than 300 KB and a snapshot of more than 8 KB are stored as blobs of the
// attempt before their entry, and are read back.
func TestLargeParts(t *testing.T) {
	t.Parallel()
	o := options(t)
	blobs := &noted{Blobs: o.Blobs}
	o.Blobs = blobs
	db, _ := open(t, o)
	ctx, a := t.Context(), startOne(t, db)
	for i, x := range []struct{ changes, snapshot, blobs int }{{100, 0, 0}, {290 << 10, 8000, 0}, {310 << 10, 0, 1}, {100, 9000, 1}, {600 << 10, 600 << 10, 2}} {
		e := host.Entry{Seq: int64(i) + 2, Nonce: "n", At: instant(1), Changes: random(x.changes), Events: []byte("[]")}
		if x.snapshot > 0 {
			e.Snapshot = random(x.snapshot)
		}
		blobs.keys = nil
		if err := db.Append(ctx, a.ID, e); err != nil {
			t.Fatal(err)
		}
		if len(blobs.keys) != x.blobs || x.blobs > 0 && !strings.HasPrefix(blobs.keys[0], fmt.Sprintf("log/%d/", a.ID)) {
			t.Errorf("%d bytes of changes and %d of state made blobs %v, want %d of the attempt", x.changes, x.snapshot, blobs.keys, x.blobs)
		}
		h, err := db.History(ctx, a.ID, e.Seq, 1)
		if err != nil || len(h.Entries) != 1 || !bytes.Equal(h.Entries[0].Changes, e.Changes) || !bytes.Equal(h.Entries[0].Snapshot, e.Snapshot) {
			t.Errorf("entry %d is not what was appended (%v)", e.Seq, err)
		}
	}
	blobs.fail = host.ErrUnavailable
	e := host.Entry{Seq: 7, Nonce: "n", At: instant(1), Changes: random(310 << 10)}
	if err := db.Append(ctx, a.ID, e); !errors.Is(err, host.ErrUnavailable) {
		t.Errorf("append without its blob: %v", err)
	}
	if l, err := db.Load(ctx, a.ID); err != nil || l.At != 6 || len(l.Entries) != 0 {
		t.Errorf("the entry whose blob failed is in the log (%v)", err)
	}
}

// TestExpiry proves that all parts of a log count as gone from the same moment, whether DynamoDB has deleted any of
// them or not, and that the rows stay.
func TestExpiry(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Now()
	o := options(t)
	o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	db, _ := open(t, o)
	ctx, a := t.Context(), startOne(t, db)
	for seq := int64(2); seq < 5; seq++ {
		if err := db.Append(ctx, a.ID, host.Entry{Seq: seq, Nonce: "n", At: now}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Finish(ctx, a.ID, host.End{At: now, Archive: []byte("kept")}); err != nil {
		t.Fatal(err)
	}
	at := func(later time.Duration, want error) {
		t.Helper()
		mu.Lock()
		now = now.Add(later)
		mu.Unlock()
		_, load := db.Load(ctx, a.ID)
		_, history := db.History(ctx, a.ID, 2, 10)
		for what, err := range map[string]error{"load": load, "history": history} {
			if !errors.Is(err, want) {
				t.Errorf("%v later: %s: %v, want %v", later, what, err, want)
			}
		}
	}
	at(36*24*time.Hour, nil)
	at(2*24*time.Hour, host.ErrNotFound)
	other := dynamo.New(configOf(t), o)
	if err := other.Append(ctx, a.ID, host.Entry{Seq: 5, Nonce: "n", At: now}); !errors.Is(err, host.ErrNotFound) {
		t.Errorf("append to an expired log: %v", err)
	}
	if kept, err := db.Archive(ctx, a.ID); err != nil || string(kept) != "kept" {
		t.Errorf("the archive is %q (%v)", kept, err)
	}
}

// TestShortLogs proves that short logs are stored with the next entry of their attempt, even if that write had to be
// retried, and are kept with the attempt when it ends.
func TestShortLogs(t *testing.T) {
	t.Parallel()
	o := options(t)
	db, counter := open(t, o)
	ctx, a := t.Context(), startOne(t, db)
	shown := func(from *dynamo.DB, want ...string) {
		t.Helper()
		var got []string
		if err := from.EachShort(ctx, a.ID, func(name string, content []byte) { got = append(got, name+"="+string(content)) }); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("short logs (-want +got):\n%s", diff)
		}
	}
	other := dynamo.New(configOf(t), o)
	shown(db)
	db.KeepShort(a.ID, "one", []byte("1"))
	db.KeepShort(a.ID, "two", []byte("2"))
	shown(db, "one=1", "two=2")
	if err := other.Append(ctx, a.ID, host.Entry{Seq: 2, Nonce: "other", At: instant(1)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Append(ctx, a.ID, host.Entry{Seq: 2, Nonce: "mine", At: instant(1)}); !errors.Is(err, host.ErrConflict) {
		t.Fatalf("append: %v, want a conflict", err)
	}
	counter.Take()
	if err := db.Append(ctx, a.ID, host.Entry{Seq: 3, Nonce: "mine", At: instant(1)}); err != nil {
		t.Fatal(err)
	}
	if got := counter.Take().String(); !strings.Contains(got, "PutItem 1") {
		t.Errorf("an entry with short logs took %s", got)
	}
	shown(other, "one=1", "two=2")
	db.KeepShort(a.ID, "three", []byte("3"))
	if err := db.Finish(ctx, a.ID, host.End{At: instant(9), Archive: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	shown(other, "one=1", "three=3", "two=2")
}

// TestShortLogsAtEnd proves that the end of an attempt reads only the entries that its process has not seen, and keeps
// the short logs of all entries.
func TestShortLogsAtEnd(t *testing.T) {
	t.Parallel()
	o := options(t)
	db, counter := open(t, o)
	other := dynamo.New(configOf(t), o)
	ctx, a, want := t.Context(), startOne(t, db), map[string]bool{}
	add := func(by *dynamo.DB, seq int64) {
		t.Helper()
		name := fmt.Sprint("log", seq)
		want[name] = true
		by.KeepShort(a.ID, name, random(600))
		if err := by.Append(ctx, a.ID, host.Entry{Seq: seq, Nonce: name, At: instant(seq)}); err != nil {
			t.Fatal(err)
		}
	}
	add(other, 2)
	if _, err := db.Load(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	for seq := int64(3); seq < 40; seq++ {
		add(db, seq)
	}
	add(other, 40)
	counter.Take()
	if err := db.Finish(ctx, a.ID, host.End{At: instant(60), Archive: []byte("state")}); err != nil {
		t.Fatal(err)
	}
	if b := counter.Take(); b.Reads > 1 {
		t.Errorf("the end took %v read units", b.Reads)
	}
	if err := other.EachShort(ctx, a.ID, func(name string, _ []byte) { delete(want, name) }); err != nil || len(want) > 0 {
		t.Errorf("%v are missing, %v", want, err)
	}
}

// TestLargeParams proves that parameters that are too large for a row are read back, even for an attempt whose log is
// gone.
func TestLargeParams(t *testing.T) {
	t.Parallel()
	o := options(t)
	blobs := &noted{Blobs: o.Blobs}
	o.Blobs = blobs
	db, _ := open(t, o)
	n := newAttempt(pushed(t, db, "r1", 1), 0, "")
	n.Params = param.New("text", base64.StdEncoding.EncodeToString(random(500<<10)))
	made, err := db.Start(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if len(blobs.keys) != 1 || blobs.keys[0] != fmt.Sprintf("state/%d/%s", made[0].ID, path.Base(blobs.keys[0])) {
		t.Errorf("the parameters are in %v", blobs.keys)
	}
	list, err := db.Attempts(t.Context(), host.AttemptQuery{Site: 1})
	if err != nil || len(list) != 1 || param.Text(list[0].Params) != param.Text(n.Params) {
		t.Errorf("%d attempts (%v), or their parameters differ", len(list), err)
	}
}
