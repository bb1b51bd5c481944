package sqlstore

import (
	"database/sql/driver"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

var (
	_ host.Projects  = (*Store)(nil)
	_ host.Workflows = (*Store)(nil)
	_ host.Schedules = (*Store)(nil)
	_ host.Attempts  = (*Store)(nil)
	_ host.Sessions  = (*Store)(nil)
	_ host.Retention = (*Store)(nil)
	_ host.Secrets   = (*Store)(nil)
	_ host.Users     = (*Store)(nil)
	_ host.Audit     = (*Store)(nil)
	_ host.Pools     = (*Store)(nil)
	_ host.Semaphore = (*Store)(nil)
	_ host.Backfills = (*Store)(nil)
)

// TestQuery proves that a query has the required parts, with their arguments in order, and no limit for 0.
func TestQuery(t *testing.T) {
	t.Parallel()
	q := Select("SELECT id FROM t WHERE a = ?", 1).ofSite("site_id", host.AnySite).ofSite("site_id", 7)
	q.When(false, " AND b = ?", 2)
	q.When(true, " AND c = ?", 3)
	q.Order("id DESC", 4)
	if q.SQL != "SELECT id FROM t WHERE a = ? AND site_id = ? AND c = ? ORDER BY id DESC LIMIT ?" {
		t.Errorf("it is %s", q.SQL)
	}
	if diff := cmp.Diff([]any{1, int64(7), 3, 4}, q.Args); diff != "" {
		t.Error(diff)
	}
	all := Select("SELECT id FROM t")
	if all.Order("id", 0); all.SQL != "SELECT id FROM t ORDER BY id" {
		t.Errorf("all are %s", all.SQL)
	}
}

// TestRow proves that a column has the same meaning in the types of both databases, that NULL is the zero value, and
// that an unreadable mapping fails the query.
func TestRow(t *testing.T) {
	t.Parallel()
	at := time.UnixMicro(1_700_000_000_000_001).UTC()
	for name, values := range map[string][]driver.Value{
		"sqlite":   {int64(7), int64(1), "text", []byte("blob"), at.UnixMicro(), `{"a":1}`},
		"postgres": {int32(7), true, []byte("text"), []byte("blob"), at.UnixMicro(), []byte(`{"a":1}`)},
	} {
		r := &Row{Values: values}
		if more, err := r.Visit(func(r *Row) {
			if r.ID() != 7 || !r.Bool() || r.Text() != "text" || string(r.Blob()) != "blob" || !r.Time().Equal(at) {
				t.Errorf("%s: a column is something else", name)
			}
			if tree := string(param.AppendStored(nil, r.Tree())); tree != `{"a":1}` {
				t.Errorf("%s: the mapping is %s", name, tree)
			}
		}); !more || err != nil {
			t.Errorf("%s: %v, %v", name, more, err)
		}
	}
	r := &Row{Values: make([]driver.Value, 6)}
	if _, err := r.Visit(func(r *Row) {
		if r.ID() != 0 || r.Bool() || r.Text() != "" || r.Blob() != nil || !r.Time().IsZero() || r.Tree() != nil {
			t.Error("NULL is something")
		}
	}); err != nil {
		t.Error(err)
	}
	r = &Row{Values: []driver.Value{"[1]"}}
	if more, err := r.Visit(func(r *Row) { r.Tree() }); more || err == nil || !strings.Contains(err.Error(), "not a mapping") {
		t.Errorf("no mapping: %v, %v", more, err)
	}
}

// TestValue checks how arguments are converted, and that arguments of other types are refused.
func TestValue(t *testing.T) {
	t.Parallel()
	var none *param.Map
	for _, x := range []struct{ arg, want any }{
		{nil, nil}, {7, int64(7)}, {int64(7), int64(7)}, {true, true}, {"x", "x"}, {[]byte("x"), []byte("x")}, {[]byte(nil), []byte{}},
		{time.Time{}, nil}, {time.UnixMicro(5), int64(5)}, {none, nil}, {param.New("a", "b"), `{"a":"b"}`},
	} {
		got, err := Value(x.arg)
		if diff := cmp.Diff(x.want, got); diff != "" || err != nil {
			t.Errorf("%T: %s, %v", x.arg, diff, err)
		}
	}
	if _, err := Value(1.5); err == nil {
		t.Error("a fraction is taken")
	}
}

// TestMigrations proves that migrations are read in order and without gaps, and that a later version is accepted unless
// it needs a later release, which an error names as the remedy.
func TestMigrations(t *testing.T) {
	t.Parallel()
	list, err := ReadMigrations(fstest.MapFS{"0001_one.sql": {Data: []byte("a")}, "0002_two.sql": {Data: []byte("-- oldest: 1\nb")}})
	if diff := cmp.Diff(Migrations{{1, 0, "0001_one", "a"}, {2, 1, "0002_two", "-- oldest: 1\nb"}}, list); diff != "" || err != nil {
		t.Errorf("read %s, %v", diff, err)
	}
	if rest, err := list.After(1, 0); err != nil || !cmp.Equal(rest.Names(), []string{"0002_two"}) {
		t.Errorf("after 1: %v, %v", rest, err)
	}
	if rest, err := list.After(2, 1); err != nil || len(rest) != 0 {
		t.Errorf("after 2: %v, %v", rest, err)
	}
	if rest, err := list.After(3, 2); err != nil || len(rest) != 0 {
		t.Errorf("after 3, which only added something: %v, %v", rest, err)
	}
	if _, err := list.After(4, 3); err == nil || !strings.Contains(err.Error(), "version 4, which can only be used by releases that know version 3, but this release supports versions up to 2") {
		t.Errorf("after 4: %v", err)
	}
	for _, line := range []string{"-- oldest: 2\n", "-- oldest: x\n", "-- oldest:"} {
		if _, err := ReadMigrations(fstest.MapFS{"0001_one.sql": {Data: []byte(line)}}); err == nil || !strings.Contains(err.Error(), "0001_one.sql") {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, name := range []string{"0003_gap.sql", "x.sql"} {
		if _, err := ReadMigrations(fstest.MapFS{"0001_one.sql": {}, name: {}}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
