package keys

import (
	"slices"

	"zerodag/engine/param"
)

// RunsNoCommand says of an operator that it is built in and runs no command: nothing is left that `_store` could take.
// An operator that is not known here, one of the project say, may run one.
func RunsNoCommand(operator string) bool {
	return slices.Contains([]string{
		"athena", "batch", "bq", "bq_ddl", "bq_extract", "bq_load", "call", "dynamodb", "echo", "ecs", "emr", "fail", "for_each", "for_range",
		"gcs_wait", "glue", "http", "http_call", "if", "lambda", "loop", "mail", "mysql", "notify", "param_get", "param_set", "pg",
		"redshift", "redshift_load", "redshift_unload", "require", "s3_copy", "s3_delete", "s3_move", "s3_wait", "slack", "sns", "sqs", "ssh",
		"step_functions", "switch", "td", "td_ddl", "td_for_each", "td_load", "td_partial_delete", "td_result_export", "td_run", "td_table_export",
		"td_wait", "td_wait_table", "wait",
	}, operator)
}

// CommandsBuiltIn are the operators that are built in and run commands.
var CommandsBuiltIn = []string{"sh", "py", "rb", "embulk"}

// FailsWithCode says whether failures of an operator, "" of none, may name the exit code of a command.
func FailsWithCode(operator string) bool {
	return operator != "" && (!RunsNoCommand(operator) || endsElsewhere(operator))
}

// endsElsewhere says of an operator that it runs a command elsewhere, whose exit code its failures name.
func endsElsewhere(operator string) bool { return operator == "ssh" || operator == "ecs" }

// OnlyRunsTasks says of an operator that it is built in and does nothing but to make tasks, whose failures are its own.
func OnlyRunsTasks(operator string) bool {
	return slices.Contains([]string{"call", "for_each", "for_range", "if", "loop", "switch"}, operator)
}

// MakesNoTasks says of an operator that it is built in and makes no tasks. Commands of py> and rb> may.
func MakesNoTasks(operator string) bool {
	return operator == "sh" || operator == "embulk" || RunsNoCommand(operator) && !OnlyRunsTasks(operator) && !AsksForTasks(operator)
}

// AsksForTasks says of an operator that it is built in and asks somebody else which tasks to make.
func AsksForTasks(operator string) bool { return operator == "http_call" || operator == "td_for_each" }

// NeverIgnored are the conditions of `_ignore_error` that no failure of an operator, "" of a group, fulfills. One of the tasks below may have their
// exit code.
func NeverIgnored(operator string) (keys []string) {
	if operator == "" || RunsNoCommand(operator) {
		keys = append(keys, "output")
	}
	if MakesNoTasks(operator) && !FailsWithCode(operator) {
		keys = append(keys, ExitCodeKey)
	}
	return keys
}

// ofTasks is the remedy for a key of a command at a group.
const ofTasks = "write it at the tasks that run commands, or for all of them into `_defaults`"

const commandForm = "sh>, py>, rb>, embulk> and executables of the project run commands"

// OperatorFaults reports the keys that mean nothing with the operator of a task, "" of a group: those about a command where none is run, and those
// about tasks below it where there are none.
func OperatorFaults(operator string, config *param.Map, report func(path []string, message, hint string)) {
	if config.Has("_fail_fast") && MakesNoTasks(operator) {
		report([]string{"_fail_fast"}, "'_fail_fast' ends the tasks below a group or a loop, and "+operator+"> has none", "write it at the group around this task")
	}
	if on, err := ParallelOf(config); MakesNoTasks(operator) && (on.On || err != nil) {
		report([]string{"_parallel"}, ParallelFault(operator), ParallelForm)
	}
	if config.Has("_repeat") && (OnlyRunsTasks(operator) || AsksForTasks(operator)) {
		report([]string{"_repeat"}, "_repeat runs an operator again, and "+operator+"> only makes tasks: none of them would run in between", "write it at the tasks below, or repeat these by a loop>")
	}
	for _, key := range NeverIgnored(operator) {
		at := []string{"_ignore_error", key}
		switch {
		case !config.Map("_ignore_error").Has(key):
		case operator == "":
			report(at, key+" of _ignore_error is that of a command, and a group has none", ofTasks)
		default:
			report(at, key+" of _ignore_error has no meaning for "+operator+">, which runs no command here", commandForm+"; write `message` with a part of the error's message")
		}
	}
	if RunsNoCommand(operator) {
		CommandFaults(operator, config, report)
	}
}

// CommandFaults reports the keys of a task that are about a command, of an operator that runs none.
func CommandFaults(operator string, config *param.Map, report func(path []string, message, hint string)) {
	if config.Has("_store") {
		report([]string{"_store"}, "'_store' has no meaning for "+operator+">, which runs no command here", commandForm+"; `zerodag operators NAME` says what others store")
	}
	if config.Map("_repeat").Has(ExitCodeKey) {
		report([]string{"_repeat", ExitCodeKey}, "exit_code of _repeat has no meaning for "+operator+">, which runs no command here", commandForm+"; write until or while")
	}
	if config.Map("_retry").Has(ExitCodeKey) && !endsElsewhere(operator) {
		report([]string{"_retry", ExitCodeKey}, "exit_code of _retry has no meaning for "+operator+">, whose failures have none", commandForm+", and ssh> and ecs> do elsewhere")
	}
}
