package configuration

import (
	"strings"

	"zerodag/internal/executors"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

// Commands reads where commands run and within which limits (commands.md#settings). It records the first invalid value
// as the Reading's error.
func (r *Reading) Commands() executors.Settings {
	const keys = "agent.command_executor."
	s := executors.Settings{Image: r.Text(keys+"docker.image", ""), User: r.Text(keys+"process.user", "")}
	switch r.Here(keys+"type", operators.InProcess, "simple", operators.InDocker) {
	case operators.InDocker:
		s.Default = operators.InDocker
	default:
		if r.Settings[keys+"type"] != "" {
			s.Default = operators.InProcess
		}
	}
	s.Alone, s.Environment = true, lineage.NotOwn
	if r.OneOf(keys+"process.environment", "inherited", "bare") == "bare" {
		s.Environment = lineage.Bare
	}
	s.Isolation = r.OneOf(keys+"process.isolation", executors.IsolateAuto, executors.IsolateAlways, executors.IsolateNone)
	for name := range strings.SplitSeq(r.Text(keys+"allow", ""), ",") {
		if name = strings.TrimSpace(name); name != "" {
			s.Allow = append(s.Allow, name)
		}
	}
	if r.Text(keys+"docker.options", "") != "" {
		free := r.Bool(keys+"docker.options", false)
		s.Options = &free
	}
	s.Limits = executors.Limits{Time: r.Duration(keys+"limits.timeout", 0), Processes: r.Number(keys+"limits.processes", 0),
		Memory: r.Size(keys + "limits.memory"), Disk: r.Size(keys + "limits.disk"), Output: r.Size(keys + "limits.output")}
	s.Most = executors.Limits{Time: r.Duration(keys+"ceilings.timeout", 0), Processes: r.Number(keys+"ceilings.processes", 0),
		Memory: r.Size(keys + "ceilings.memory"), Disk: r.Size(keys + "ceilings.disk"), Output: r.Size(keys + "ceilings.output")}
	return s
}

// OwnFolder returns the settings for commands that work in the folder of the user who started this program. They run as
// that user, because any other user would first need access to the files.
func OwnFolder(s executors.Settings) executors.Settings {
	s.User, s.Isolation = "", executors.IsolateNone
	return s
}
