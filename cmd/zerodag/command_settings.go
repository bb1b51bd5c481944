package main

import (
	"strings"

	"zerodag/internal/executors"
	"zerodag/internal/lineage"
	"zerodag/operators"
)

// commandSettings reads where commands run, and within which limits (commands.md#settings).
func commandSettings(r *reading) executors.Settings {
	const keys = "agent.command_executor."
	s := executors.Settings{Image: r.text(keys+"docker.image", ""), User: r.text(keys+"process.user", "")}
	switch r.here(keys+"type", operators.InProcess, "simple", operators.InDocker) {
	case operators.InDocker:
		s.Default = operators.InDocker
	default:
		if r.settings[keys+"type"] != "" {
			s.Default = operators.InProcess
		}
	}
	s.Alone, s.Environment = true, lineage.NotOwn
	if r.oneOf(keys+"process.environment", "inherited", "bare") == "bare" {
		s.Environment = lineage.Bare
	}
	for name := range strings.SplitSeq(r.text(keys+"allow", ""), ",") {
		if name = strings.TrimSpace(name); name != "" {
			s.Allow = append(s.Allow, name)
		}
	}
	if r.text(keys+"docker.options", "") != "" {
		free := r.bool(keys+"docker.options", false)
		s.Options = &free
	}
	s.Limits = executors.Limits{Time: r.duration(keys+"limits.timeout", 0), Processes: r.number(keys+"limits.processes", 0),
		Memory: r.size(keys + "limits.memory"), Disk: r.size(keys + "limits.disk"), Output: r.size(keys + "limits.output")}
	s.Most = executors.Limits{Time: r.duration(keys+"ceilings.timeout", 0), Processes: r.number(keys+"ceilings.processes", 0),
		Memory: r.size(keys + "ceilings.memory"), Disk: r.size(keys + "ceilings.disk"), Output: r.size(keys + "ceilings.output")}
	return s
}

// size reads a number of bytes as docker writes it; 0 when the key is absent.
func (r *reading) size(key string) int64 {
	text := r.text(key, "")
	if text == "" {
		return 0
	}
	n, err := operators.ParseSize(text)
	if err != nil {
		r.wrong(key, "a size with its unit like 512m or 2g")
	}
	return n
}

// ownFolder is for commands that work in the folder of the user who started this program: they
// run as that user, since another one would have to be given its files.
func ownFolder(s executors.Settings) executors.Settings {
	s.User = ""
	return s
}
