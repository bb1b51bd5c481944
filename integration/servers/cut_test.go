package servers

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"zerodag/integration/server"
	"zerodag/operators/operatortest/postgres"
)

// TestCutOff checks what happens to a server's command when that server is cut off from the database while another one
// is not: with agent.self-fencing it ends before the other server begins the task again, otherwise both run at the same
// time until the connection is back. The other server reports the loss, and shows which server ran the task.
func TestCutOff(t *testing.T) {
	required(t)
	program := server.Build(t)
	for name, fencing := range map[string]bool{"fencing": true, "no fencing": false} {
		t.Run(name, func(t *testing.T) {
			s := postgres.StartKeeping(t)
			door := openDoor(t, s.Port)
			in, setting := placeOf(t, s.Port), "agent.self-fencing="+strconv.FormatBool(fencing)
			cut := in.Join(t, program, "-X", setting, "-X", "agent.id=cut", "-X", "database.port="+strconv.Itoa(door.port()))
			other := in.Join(t, program, "-X", setting, "-X", "agent.id=other")
			cut.Start()
			out := t.TempDir()
			start := begin(t, cut, map[string]string{"main.dig": "+a:\n  sh>: cd " + out + "; echo x >> begun; if [ $(wc -l < begun) = 1 ]; then while :; do date +%s%N >> first; sleep 0.1; done; fi; date +%s%N >> second; sleep 5\n"})
			attempt := start(cut)
			await(t, "the command", func() bool { return len(lines(out, "first")) > 0 })
			other.Start()
			var tasks struct {
				Tasks []struct{ FullName, AgentID string }
			}
			other.Get("/api/attempts/"+attempt+"/tasks", &tasks)
			if last := tasks.Tasks[len(tasks.Tasks)-1]; last.FullName != "+main+a" || last.AgentID != "cut" {
				t.Errorf("got tasks %+v, want the server of the running one", tasks.Tasks)
			}
			door.shut()
			await(t, "the second run", func() bool { return len(lines(out, "second")) > 0 })
			time.Sleep(2 * time.Second) // in which a first run that continues writes more lines
			first, second := lines(out, "first"), lines(out, "second")
			if beside := first[len(first)-1] > second[0]; beside == fencing {
				t.Errorf("the first run lasted until %d and the second one began at %d", first[len(first)-1], second[0])
			}
			await(t, "the report of the loss", func() bool { return strings.Contains(other.Log(), "without being stopped") })
			var list struct {
				Servers []struct{ Name, State string }
			}
			other.Get("/api/x/admin/servers", &list)
			if text := fmt.Sprint(list.Servers); text != "[{cut lost} {other running}]" {
				t.Errorf("got servers %s", text)
			}
			if status, _, err := other.Call(http.MethodGet, "/readyz", "", nil); err != nil || status != http.StatusOK {
				t.Errorf("the other server is not ready: %d %v", status, err)
			}
			door.lead(s.Port)
			wantSuccess(t, other, attempt)
			if n := len(lines(out, "second")); n != 1 {
				t.Errorf("the second run began %d times", n)
			}
			await(t, "the return of the server", func() bool {
				other.Get("/api/x/admin/servers", &list)
				return fmt.Sprint(list.Servers) == "[{cut running} {other running}]"
			})
			if fenced := strings.Contains(cut.Log(), "a run was ended because its lease"); fenced != fencing {
				t.Errorf("the server that was cut off reports the end of a run: %t", fenced)
			}
			if t.Failed() {
				t.Logf("cut off:\n%s\nother:\n%s", cut.Log(), other.Log())
			}
		})
	}
}

// lines reads the numbers that commands have written to a file.
func lines(folder, name string) (list []int64) {
	text, _ := os.ReadFile(filepath.Join(folder, name))
	for _, line := range strings.Fields(string(text)) {
		if n, err := strconv.ParseInt(line, 10, 64); err == nil {
			list = append(list, n)
		}
	}
	return list
}
