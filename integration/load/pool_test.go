package load_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"zerodag/integration/server"
)

// TestPoolLoad has many attempts share a pool of ten slots: all succeed, never more than ten have a slot, and the log
// shows how long that took compared with the least possible time. With ZERODAG_LOAD, there are 1,000 attempts whose
// tasks take a second each.
func TestPoolLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	const slots = 10
	attempts, each := 100, 200*time.Millisecond
	if os.Getenv("ZERODAG_LOAD") != "" {
		attempts, each = 1000, time.Second
	}
	srv := server.New(t, server.Build(t), "-X", "executor.attempt_max_run=1000000")
	srv.Start()
	send := func(method, path, contentType, body string, into any) {
		t.Helper()
		status, text, err := srv.Call(method, path, contentType, []byte(body))
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s %s: %d %v %s", method, path, status, err, text)
		}
		if into != nil {
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(http.MethodPut, "/api/pools/ten", "application/json", fmt.Sprintf(`{"slots": %d}`, slots), nil)
	flow := fmt.Sprintf("zerodag: 1\n+a:\n  _pool: ten\n  sh>: sleep %.1f\n", each.Seconds())
	send(http.MethodPut, "/api/projects?project=pool&revision=1", "application/gzip", string(server.Pack(map[string]string{"main.dig": flow})), nil)
	var found struct{ Workflows []struct{ ID string } }
	send(http.MethodGet, "/api/workflows?"+url.Values{"name_pattern": {"main"}}.Encode(), "", "", &found)
	if len(found.Workflows) != 1 {
		t.Fatalf("workflows: %v", found)
	}
	began := time.Now()
	for i := range attempts {
		session := time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC).Format(time.RFC3339)
		send(http.MethodPut, "/api/attempts", "application/json", fmt.Sprintf(`{"workflowId": %q, "sessionTime": %q, "params": {}}`, found.Workflows[0].ID, session), nil)
	}
	most := 0
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var line struct{ Taken []any }
		send(http.MethodGet, "/api/pools/ten", "", "", &line)
		most = max(most, len(line.Taken))
		metrics := page(t, srv)
		if ended(t, metrics, "") >= attempts {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("they do not end\n%s", metrics)
		}
	}
	took, least := time.Since(began), time.Duration(attempts/slots)*each
	t.Logf("%d attempts through %d slots, %v each: %v, which is %.2f of %v", attempts, slots, each, took.Round(time.Millisecond), took.Seconds()/least.Seconds(), least)
	if most == 0 || most > slots {
		t.Errorf("%d had a slot at once", most)
	}
	if failed := ended(t, page(t, srv), "error"); failed != 0 || strings.Contains(srv.Log(), "[ERROR]") {
		t.Errorf("%d attempts failed\n%s", failed, srv.Log())
	}
}
