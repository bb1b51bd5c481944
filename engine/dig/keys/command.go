package keys

import (
	"slices"

	"zerodag/engine/param"
)

// RunsNoCommand reports whether an operator is built in and runs no command, so that there is nothing for `_store` to
// store. An operator that is not known here, such as one defined in the project, may run a command.
func RunsNoCommand(operator string) bool {
	return slices.Contains([]string{
		"athena", "batch", "bq", "bq_ddl", "bq_extract", "bq_load", "call", "dynamodb", "echo", "ecs", "emr", "fail", "for_each", "for_range",
		"gcs_wait", "glue", "http", "http_call", "if", "lambda", "loop", "mail", "mysql", "notify", "param_get", "param_set", "pg",
		"redshift", "redshift_load", "redshift_unload", "require", "s3_copy", "s3_delete", "s3_move", "s3_wait", "slack", "sns", "sqs", "ssh",
		"step_functions", "switch", "td", "td_ddl", "td_for_each", "td_load", "td_partial_delete", "td_result_export", "td_run", "td_table_export",
		"td_wait", "td_wait_table", "wait",
	}, operator)
}

// CommandsBuiltIn are the built-in operators that run commands.
var CommandsBuiltIn = []string{"sh", "py", "rb", "embulk"}

// FailsWithCode reports whether failures of an operator ("" for none) may include the exit code of a command.
func FailsWithCode(operator string) bool {
	return operator != "" && (!RunsNoCommand(operator) || endsElsewhere(operator))
}

// endsElsewhere reports whether an operator runs a command elsewhere, whose exit code its failures include.
func endsElsewhere(operator string) bool { return operator == "ssh" || operator == "ecs" }

// OnlyRunsTasks reports whether an operator is built in and only generates tasks, so that it fails only if they do.
func OnlyRunsTasks(operator string) bool {
	return slices.Contains([]string{"call", "for_each", "for_range", "if", "loop", "switch"}, operator)
}

// MakesNoTasks reports whether an operator is built in and generates no tasks. Commands of py> and rb> may generate
// tasks.
func MakesNoTasks(operator string) bool {
	return operator == "sh" || operator == "embulk" || RunsNoCommand(operator) && !OnlyRunsTasks(operator) && !AsksForTasks(operator)
}

// AsksForTasks reports whether an operator is built in and asks a remote system which tasks to generate.
func AsksForTasks(operator string) bool { return operator == "http_call" || operator == "td_for_each" }

// NeverIgnored returns the conditions of `_ignore_error` that no failure of an operator ("" for a group) can match. A
// task below may fail with an exit code.
func NeverIgnored(operator string) (keys []string) {
	if operator == "" || RunsNoCommand(operator) {
		keys = append(keys, "output")
	}
	if MakesNoTasks(operator) && !FailsWithCode(operator) {
		keys = append(keys, ExitCodeKey)
	}
	return keys
}

// ofTasks is the hint for a group that has a key about a command.
const ofTasks = "write it at the tasks that run commands, or in `_defaults` for all of them"

const commandForm = "sh>, py>, rb>, embulk> and executables of the project run commands"

// OperatorFaults reports keys that have no meaning with a task's operator ("" for a group): keys about a command if the
// task runs none, and keys about tasks below it if there are none.
func OperatorFaults(operator string, config *param.Map, report func(path []string, message, hint string)) {
	if config.Has("_fail_fast") && MakesNoTasks(operator) {
		report([]string{"_fail_fast"}, "'_fail_fast' ends the tasks below a group or a loop, but "+operator+"> has none", "write it at the group around this task")
	}
	if on, err := ParallelOf(config); MakesNoTasks(operator) && (on.On || err != nil) {
		report([]string{"_parallel"}, ParallelFault(operator), ParallelForm)
	}
	if config.Has("_repeat") && (OnlyRunsTasks(operator) || AsksForTasks(operator)) {
		report([]string{"_repeat"}, "_repeat runs an operator again, but "+operator+"> only generates tasks, none of which would run in between", "write it at the tasks below, or repeat them with loop>")
	}
	for _, key := range NeverIgnored(operator) {
		at := []string{"_ignore_error", key}
		switch {
		case !config.Map("_ignore_error").Has(key):
		case operator == "":
			report(at, key+" of _ignore_error is for commands, but a group runs none", ofTasks)
		default:
			report(at, key+" of _ignore_error has no effect on "+operator+">, which runs no command here", commandForm+"; write `message` with part of the error message")
		}
	}
	if RunsNoCommand(operator) {
		CommandFaults(operator, config, report)
	}
}

// CommandFaults reports keys about a command on an operator that runs none.
func CommandFaults(operator string, config *param.Map, report func(path []string, message, hint string)) {
	if config.Has("_store") {
		report([]string{"_store"}, "'_store' has no effect on "+operator+">, which runs no command here", commandForm+"; `zerodag operators NAME` shows what other operators store")
	}
	if config.Map("_repeat").Has(ExitCodeKey) {
		report([]string{"_repeat", ExitCodeKey}, "exit_code of _repeat has no effect on "+operator+">, which runs no command here", commandForm+"; write until or while")
	}
	if config.Map("_retry").Has(ExitCodeKey) && !endsElsewhere(operator) {
		report([]string{"_retry", ExitCodeKey}, "exit_code of _retry has no effect on "+operator+">, whose failures have no exit code", commandForm+"; ssh> and ecs> run them elsewhere")
	}
}
