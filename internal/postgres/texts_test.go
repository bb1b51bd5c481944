package postgres

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
)

// testTexts proves that every string is kept unchanged, including bytes that PostgreSQL's text type refuses, and that
// lists are sorted by bytes, not by the rules of a language.
func testTexts(t *testing.T, l *lab) {
	db, ctx := l.fresh(t), t.Context()
	odd := "nul \x00, broken \xff, ✓, ' \\ ${x}"
	tree := param.New("k", "nul \x00 \\u0000 ✓")
	p, err := db.Push(ctx, host.Push{Site: 1, Project: odd, Revision: host.Revision{Name: odd, CreatedAt: at(0), Archive: odd, UserInfo: tree},
		Workflows: []dig.Workflow{{Name: odd, Zone: "UTC", Config: tree}}})
	if err != nil || p.Name != odd || p.Latest.Name != odd || p.Latest.Archive != odd {
		t.Fatalf("pushed %+v, %v", p, err)
	}
	w, err := db.Workflows(ctx, host.WorkflowQuery{Site: 1, Pattern: "nul \x00", Name: odd})
	if err != nil || len(w) != 1 || string(param.AppendStored(nil, w[0].Config)) != string(param.AppendStored(nil, tree)) {
		t.Fatalf("workflows are %+v, %v", w, err)
	}
	n := (&scene{workflow: w[0]}).attempt()
	n.RetryName, n.Params = odd, tree
	a, err := db.Start(ctx, n)
	if err != nil || a[0].RetryName != odd || a[0].Workflow.Name != odd {
		t.Fatalf("started %+v, %v", a, err)
	}
	if err := db.Append(ctx, a[0].ID, host.Entry{Seq: 2, Nonce: odd, Changes: []byte(odd), Events: []byte(odd)}); err != nil {
		t.Fatal(err)
	}
	if l, err := db.Load(ctx, a[0].ID); err != nil || l.Entries[1].Nonce != odd || string(l.Entries[1].Changes) != odd {
		t.Errorf("loaded %+v, %v", l, err)
	}
	keys := []string{"A", "_", "a", "b", "ä", odd}
	for _, key := range keys {
		if err := db.PutSecret(ctx, 1, 1, key, odd); err != nil {
			t.Fatal(err)
		}
	}
	list, err := db.SecretKeys(ctx, 1, 1)
	if diff := cmp.Diff([]string{"A", "_", "a", "b", odd, "ä"}, list); diff != "" || err != nil {
		t.Errorf("keys %s, %v", diff, err)
	}
	long := strings.Repeat(odd, 1000)
	if err := db.ParamStore(1).Set(ctx, map[string]string{long: long}); err != nil {
		t.Fatal(err)
	}
	if v, found, err := db.ParamStore(1).Get(ctx, long); err != nil || !found || v != long {
		t.Errorf("a long key: %v, %v", found, err)
	}
}

// testLogs proves that the log of a run is read part by part by another server, that it continues in another file at
// the requested size, that two runs that begin at the same moment have a file each, and that a log states what is
// missing if the database was unavailable.
func testLogs(t *testing.T, l *lab) {
	l.enter(t)
	o := l.options()
	reader := open(t, o)
	p := newProxy(t, l.Port)
	o.URL = l.url(p.port())
	writer := open(t, o)
	now := time.Unix(1_700_000_000, 0)
	logs := NewLogs(writer, LogOptions{AgentID: "me", Split: 300_000, Now: func() time.Time { return now }})
	read := NewLogs(reader, LogOptions{})
	one, two := logs.Open(operators.Identity{AttemptID: 1, TaskName: "+a"}, now), logs.Open(operators.Identity{AttemptID: 1, TaskName: "+a"}, now)
	line := strings.Repeat("0123456789abcdef", 4)[1:] + "\n"
	for i := range 10_000 {
		fmt.Fprintf(one, "%05d%s", i, line[5:])
	}
	two.Echo("two")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := read.Files(t.Context(), host.Attempt{ID: 1}, "+a@")
	if err != nil || len(files) != 4 {
		t.Fatalf("files are %+v, %v; want three of one run and one of the other", files, err)
	}
	all := ""
	for _, f := range files {
		r, size, err := read.File(t.Context(), host.Attempt{ID: 1}, f.Name)
		if err != nil || size != f.Size {
			t.Fatalf("%s has %d bytes, listed with %d: %v", f.Name, size, f.Size, err)
		}
		all += unpack(t, r)
	}
	if len(all) != 640_000+len("two") || !strings.Contains(all, "05000") {
		t.Errorf("the files are %d bytes", len(all))
	}
	late := &taskLog{logs: logs, attempt: 2, task: "+late", source: "+late", wait: time.Hour}
	late.behind = true // as after a failed store
	for range 3 * mostGathered / len(line) {
		late.Echo(line)
	}
	if len(late.text) > mostGathered || late.missing.bytes == 0 {
		t.Errorf("%d bytes are in memory, %d are missing", len(late.text), late.missing.bytes)
	}
	missing := late.missing
	if err := late.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := reader.LogContent(t.Context(), 2, late.name)
	if err != nil {
		t.Fatal(err)
	}
	if text := unpack(t, bytes.NewReader(content)); !strings.HasSuffix(text, fmt.Sprintf("%d lines (%d bytes) are missing here: the database did not accept them\n", missing.lines, missing.bytes)) {
		t.Errorf("the log ends with %q", text[max(0, len(text)-200):])
	}
}

func unpack(t *testing.T, r io.Reader) string {
	t.Helper()
	z, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testDepths proves that message lists include the messages' shares, and that vitals include the size of the tables.
func testDepths(t *testing.T, l *lab) {
	db, ctx := l.fresh(t), t.Context()
	if err := db.Queue("events").Send(ctx, host.Message{ID: "a", Share: "s"}); err != nil {
		t.Fatal(err)
	}
	if list, err := db.Queued(ctx, "events", 0, 10); err != nil || len(list) != 1 || list[0].Share != "s" {
		t.Errorf("queued are %+v, %v", list, err)
	}
	var v host.Vitals
	if err := db.Counts(ctx, &v); err != nil || v.Database < 8192 {
		t.Errorf("vitals are %+v, %v", v, err)
	}
}
