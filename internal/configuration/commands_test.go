package configuration

import (
	gocmp "cmp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"zerodag/internal/executors"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

func TestCommandSettings(t *testing.T) {
	t.Parallel()
	const k = "agent.command_executor."
	yes := true
	for _, c := range []struct {
		in   Settings
		want executors.Settings
	}{
		{Settings{}, executors.Settings{}},
		{Settings{k + "process.isolation": "required"}, executors.Settings{Isolation: executors.IsolateAlways}},

		{Settings{k + "type": "simple"}, executors.Settings{Default: operators.InProcess}},
		{Settings{k + "type": "docker", k + "docker.image": "a:1", k + "docker.options": "true", k + "allow": "docker, process", k + "process.user": "nobody",
			k + "limits.timeout": "2h", k + "limits.memory": "2g", k + "limits.disk": "512m", k + "limits.output": "1k", k + "limits.processes": "9",
			k + "ceilings.timeout": "4h", k + "ceilings.memory": "4g", k + "ceilings.disk": "1g", k + "ceilings.output": "2k", k + "ceilings.processes": "99", k + "process.environment": "bare"},
			executors.Settings{Default: operators.InDocker, Image: "a:1", Options: &yes, Environment: lineage.Bare,
				Most: executors.Limits{Time: 4 * time.Hour, Memory: 4 << 30, Disk: 1 << 30, Output: 2048, Processes: 99}, Allow: []string{"docker", "process"}, User: "nobody",
				Limits: executors.Limits{Time: 2 * time.Hour, Memory: 2 << 30, Disk: 512 << 20, Output: 1024, Processes: 9}}},
	} {
		r := c.in.Reading()
		got := r.Commands()
		c.want.Alone, c.want.Environment = true, max(c.want.Environment, lineage.NotOwn)
		c.want.Isolation = gocmp.Or(c.want.Isolation, executors.IsolateAuto)
		if diff := cmp.Diff(c.want, got); diff != "" || r.Err != nil || len(r.Unread()) > 0 {
			t.Errorf("%v: %v, unread %v\n%s", c.in, r.Err, r.Unread(), diff)
		}
	}
	for key, value := range map[string]string{"limits.memory": "2", "limits.timeout": "soon", "docker.options": "maybe", "process.isolation": "yes"} {
		r := Settings{k + key: value}.Reading()
		if r.Commands(); r.Err == nil || !strings.Contains(r.Err.Error(), k+key) {
			t.Errorf("%s = %s: got %v", key, value, r.Err)
		}
	}
}
