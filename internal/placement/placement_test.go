package placement_test

import (
	"testing"

	"zerodag/engine/param"
	"zerodag/internal/placement"
	"zerodag/operators"
)

// TestMachines proves that a command that requests an image, a size or a role runs in an executor that supports it,
// unless it names an executor.
func TestMachines(t *testing.T) {
	t.Parallel()
	both := []string{operators.OnFargate, operators.OnMicrovm}
	table := placement.Table{Place: "here", Known: both, Allowed: both, Default: operators.OnMicrovm, Machines: operators.OnFargate}
	for _, x := range []struct {
		asked operators.Sandbox
		want  string
	}{
		{operators.Sandbox{}, operators.OnMicrovm},
		{operators.Sandbox{Fresh: true, Time: 1, Output: 1, Processes: 1}, operators.OnMicrovm},
		{operators.Sandbox{Docker: param.New("image", "i")}, operators.OnFargate},
		{operators.Sandbox{CPU: 1}, operators.OnFargate},
		{operators.Sandbox{Memory: 1}, operators.OnFargate},
		{operators.Sandbox{Disk: 1}, operators.OnFargate},
		{operators.Sandbox{Role: "r"}, operators.OnFargate},
		{operators.Sandbox{Spot: true}, operators.OnFargate},
		{operators.Sandbox{CPU: 1, Executor: operators.OnMicrovm}, operators.OnMicrovm},
	} {
		if got, err := table.Choose(x.asked); err != nil || got != x.want {
			t.Errorf("%+v: got %q, %v, want %q", x.asked, got, err, x.want)
		}
	}
	table.Machines = ""
	if got, err := table.Choose(operators.Sandbox{CPU: 1}); err != nil || got != operators.OnMicrovm {
		t.Errorf("where there is one place: %q, %v", got, err)
	}
}
