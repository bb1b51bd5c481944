package dig

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

// FailsWithCode says whether failures of an operator, "" of none, may name the exit code of a command.
func FailsWithCode(operator string) bool {
	return operator != "" && (!RunsNoCommand(operator) || endsElsewhere(operator))
}

// endsElsewhere says of an operator that it runs a command elsewhere, whose exit code its failures name.
func endsElsewhere(operator string) bool { return operator == "ssh" || operator == "ecs" }

const commandForm = "sh>, py>, rb>, embulk> and executables of the project run commands"

// commandFaults reports the keys of a task that are about a command, of an operator that runs none.
func commandFaults(operator string, config *param.Map, report func(path []string, message, hint string)) {
	if config.Has("_store") {
		report([]string{"_store"}, "'_store' has no meaning for "+operator+">, which runs no command here", commandForm+"; `zerodag operators NAME` says what others store")
	}
	if config.Map("_repeat").Has(exitCodeKey) {
		report([]string{"_repeat", exitCodeKey}, "exit_code of _repeat has no meaning for "+operator+">, which runs no command here", commandForm+"; write until or while")
	}
	if config.Map("_retry").Has(exitCodeKey) && !endsElsewhere(operator) {
		report([]string{"_retry", exitCodeKey}, "exit_code of _retry has no meaning for "+operator+">, whose failures have none", commandForm+", and ssh> and ecs> do elsewhere")
	}
}
