package remedy

import (
	"slices"
	"strings"
)

// Commands returns zerodag's equivalents of another program's command, best first. Not every group of commands has all
// equivalents.
func Commands(name string) []string {
	for _, c := range []struct{ theirs, ours string }{
		{"validate lint test verify compile parse vet render plan", "check"},
		{"deploy publish apply sync register", "push"},
		{"trigger submit execute exec launch dispatch invoke enqueue", "start"},
		{"stop cancel abort terminate interrupt", "kill"},
		{"list ls dags dag flows flow pipelines pipeline jobs job show describe", "list show workflows"},
		{"ps top health overview dashboard", "status"},
		{"runs history executions", "sessions"},
		{"unschedule suspend deactivate", "disable"},
		{"activate", "enable"},
		{"resume rerun restart redo replay clear", "retry"},
		{"rm remove del drop destroy undeploy", "delete revoke"},
		{"create generate scaffold add", "create set init"},
		{"serve webserver web ui daemon standalone up", "server"},
		{"schedule cron", "schedules"},
		{"login profile profiles connect", "context"},
		{"man manual documentation", "docs"},
		{"follow", "watch"},
		{"logs tail", "log"},
		{"get fetch pull clone checkout", "download"},
		{"operator plugins actions", "operators"},
	} {
		if slices.Contains(strings.Fields(c.theirs), name) {
			return strings.Fields(c.ours)
		}
	}
	return nil
}

// FlagAdvice explains what a command accepts instead of another program's flag; "" if nothing is known.
func FlagAdvice(command, name string) string {
	switch name {
	case "task", "tasks", "step", "steps", "only", "job", "target", "node", "select":
		switch command {
		case "run":
			return "name the task after the workflow, as in `zerodag run w.dig +task`; --start runs a task and all later tasks"
		case "start":
			return "`zerodag start` runs the whole workflow; `zerodag retry ATTEMPT-ID --latest-revision --only +task` reruns one task"
		}
	case "workflow", "file", "dag", "flow":
		if command == "run" {
			return "name the workflow without an option, as in `zerodag run w.dig`"
		}
	case "resume", "retry", "continue":
		if command == "run" {
			return "`zerodag run` resumes the last run of a session without an option; --rerun runs everything again"
		}
	case "verbose", "debug":
		if command == "run" {
			return "did you mean --log-level debug?"
		}
	}
	return ""
}

// Flag returns zerodag's equivalent of another program's flag, or "" if there is none.
func Flag(name string) string {
	switch name {
	case "host", "address", "addr", "listen", "ip", "interface":
		return "bind"
	case "data", "data-dir", "dir", "db", "store", "home", "dags":
		return "database"
	case "parameter", "parameters", "params", "var", "vars", "variable", "env", "set":
		return "param"
	case "url", "server", "host-url", "api":
		return "endpoint"
	case "date", "execution-date", "exec-date", "logical-date", "run-id", "time", "schedule-time":
		return "session"
	case "threads", "workers", "concurrency", "max-active-runs":
		return "max-task-threads"
	case "branch", "tag", "version":
		return "revision"
	case "format", "json", "yaml":
		return "output"
	case "from", "from-task", "start-from", "start-at":
		return "start"
	case "until", "to", "stop-at":
		return "end"
	case "force", "fresh", "clean", "no-cache", "no-resume":
		return "rerun"
	case "dry", "check", "simulate", "noop", "no-op":
		return "dry-run"
	case "dotenv":
		return "env-file"
	}
	return ""
}
