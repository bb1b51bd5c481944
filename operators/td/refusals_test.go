//go:debug x509usefallbackroots=1
package td_test

import (
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"zerodag/integration/fake"
	"zerodag/integration/tdfake"
	"zerodag/operators/operatortest"
)

// trusted returns the certificates that this process trusts. All httptest servers have the same certificate.
var trusted = sync.OnceValue(func() *x509.CertPool { return x509.NewCertPool() })

func TestMain(m *testing.M) {
	x509.SetFallbackRoots(trusted())
	os.Exit(m.Run())
}

// rough is a task with the values that it stores when it ends.
type rough struct{ operator, params, store, failure string }

func roughTasks() map[string]rough {
	return map[string]rough{
		"success":         {"td", `{"query": "select 1"}`, `{"td":{"last_job_id":"1001","last_job":{"id":"1001","num_records":1}}}`, ""},
		"all of a result": {"td", "{" + script(table) + `, "preview": true, "download_file": "f.csv", "store_last_results": true}`, `"num_records":2}}}`, ""},
		"failure":         {"td", "{" + script(`{"fail": "no such table"}`) + "}", "", "no such table"},
		"wait":            {"td_wait", `{"query": "select 5"}`, "", ""},
		"rows of a table": {"td_wait_table", `{"_command": "there", "rows": 1}`, "", ""},
		"loop":            {"td_for_each", "{" + script(`{"columns": [["a", "bigint"]], "rows": [[1], [2]]}`) + `, "_do": {"echo>": "x"}}`, `"num_records":2}}}`, ""},
		"ddl":             {"td_ddl", `{"create_tables": ["aaa", "bbb"], "drop_tables": ["ccc"], "create_databases": ["ddd"], "rename_tables": [{"from": "there", "to": "here"}]}`, "", ""},
		"insert":          {"td", `{"query": "select 1", "insert_into": "new_table", "preview": true}`, `"num_records":0}}}`, ""},
	}
}

// reach runs a task to its end.
func (r rough) reach(t *testing.T, b *bed, w *operatortest.World) {
	t.Helper()
	got := operatortest.UntilDone(t, operator(t, r.operator), w)
	if r.failure != "" && !strings.Contains(got.Error, r.failure) || r.failure == "" && got.Error != "" || !strings.HasSuffix(got.Store, r.store) {
		t.Errorf("got %+v, want %+v", got, r)
	}
	for key := range b.Jobs() {
		if count := len(b.Jobs()); count > 2 {
			t.Errorf("%v: %d jobs were started", key, count)
		}
	}
}

// TestServiceAwayNowAndThen checks that a task reaches its end, with few calls, whatever share of its calls is refused.
func TestServiceAwayNowAndThen(t *testing.T) {
	t.Parallel()
	away := []fake.Fault{fake.Away}
	for name, r := range roughTasks() {
		for level, c := range map[string]struct {
			faults fake.Faults
			most   int
		}{
			"every other": {fake.Faults{Other: fake.Away}, 30},
			"half":        {fake.Faults{Rate: 0.5, Seed: 1, Kinds: away}, 60},
			"half, other": {fake.Faults{Rate: 0.5, Seed: 2, Kinds: away}, 60},
			"4 of 5":      {fake.Faults{Rate: 0.8, Seed: 3, Kinds: away}, 150},
			"4 of 5 cut":  {fake.Faults{Rate: 0.8, Seed: 4, Kinds: []fake.Fault{fake.Cut, fake.Lost, fake.Half}}, 300},
		} {
			t.Run(name+"/"+level, func(t *testing.T) {
				t.Parallel()
				b := newBed(t)
				b.Put("sample_datasets", "there")
				w := b.world(t, r.params)
				b.Fail(c.faults)
				r.reach(t, b, w)
				if n := len(b.Requests()); n > c.most {
					t.Errorf("%d calls, want at most %d", n, c.most)
				}
			})
		}
	}
}

// TestProxyThatRefuses checks the same for a proxy, and that connections are reused.
func TestProxyThatRefuses(t *testing.T) {
	t.Parallel()
	chance := func(rate float64, seed uint64) func(int) bool {
		return func(n int) bool { return rand.New(rand.NewPCG(seed, uint64(n))).Float64() < rate }
	}
	for name, r := range roughTasks() {
		for level, c := range map[string]struct {
			refuse func(int) bool
			most   int
		}{
			"none":        {nil, 8},
			"every other": {func(n int) bool { return n%2 == 1 }, 20},
			"half":        {chance(0.5, 1), 60},
			"4 of 5":      {chance(0.8, 2), 150},
		} {
			for _, tls := range []string{"false", "true"} {
				t.Run(name+"/"+level+"/"+tls, func(t *testing.T) {
					t.Parallel()
					s := tdfake.New()
					endpoint, certificate := s.StartTLS(t)
					trusted().AddCert(certificate)
					s.Put("sample_datasets", "there")
					b := &bed{s, endpoint}
					p := &tdfake.Proxy{Refuse: c.refuse}
					host, port := p.Start(t)
					w := b.world(t, fmt.Sprintf(`{"proxy": {"enabled": true, "host": %q, "port": %s, "use_ssl": %s}, %s`, host, port, tls, r.params[1:]))
					w.Vault["td.use_ssl"] = "true"
					r.reach(t, b, w)
					if asked, opened := p.Tunnels(); asked > c.most || opened == 0 {
						t.Errorf("%d tunnels asked for, %d opened, want at most %d", asked, opened, c.most)
					}
				})
			}
		}
	}
}

// TestProxyPassword checks that a password is not sent to a proxy without TLS if TLS was requested, and that the task
// fails at once.
func TestProxyPassword(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	host, port := (&tdfake.Proxy{}).Start(t)
	w := b.world(t, fmt.Sprintf(`{"query": "select 1", "proxy": {"enabled": true, "host": %q, "port": %s, "use_ssl": true, "user": "u", "password": "p"}}`, host, port))
	got := operatortest.UntilDone(t, operator(t, "td"), w)
	if !strings.Contains(got.Error, "does not speak TLS: remove proxy.use_ssl") || len(b.Requests()) != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestConnectionsAreKept checks that a run's calls share one connection.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	s := tdfake.New()
	endpoint, certificate := s.StartTLS(t)
	trusted().AddCert(certificate)
	b := &bed{s, endpoint}
	p := &tdfake.Proxy{}
	host, port := p.Start(t)
	w := b.world(t, fmt.Sprintf(`{"create_tables": ["aaa", "bbb", "ccc"], "proxy": {"enabled": true, "host": %q, "port": %s}}`, host, port))
	w.Vault["td.use_ssl"] = "true"
	if got := operatortest.UntilDone(t, operator(t, "td_ddl"), w); got.Error != "" {
		t.Error(got.Error)
	}
	if asked, _ := p.Tunnels(); asked != 1 || len(b.Requests()) != 6 {
		t.Errorf("%d tunnels for %d calls, want 1 for 6", asked, len(b.Requests()))
	}
}

// TestWhatIsMissingIsNamed checks that the error of a lookup names the missing object.
func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	got := operatortest.UntilDone(t, operator(t, "td"), b.world(t, `{"query": "select 1", "result_connection": "nope"}`))
	if !strings.Contains(got.Error, "API request to /v3/connections/lookup?name=nope has failed") {
		t.Errorf("got %+v", got)
	}
	got = operatortest.UntilDone(t, operator(t, "td_partial_delete"), b.world(t, `{"_command": "t", "from": "2016-01-01 00:00:00", "to": 0}`))
	if !strings.Contains(got.Error, "Invalid timestamp format for key 'from': 2016-01-01 00:00:00") {
		t.Errorf("got %+v", got)
	}
}
