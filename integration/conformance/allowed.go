package conformance

// allowedDifferences lists the cases in which this engine differs on purpose; the reasons are in docs/compatibility.md.
var allowedDifferences = map[string]string{
	"b07-js-es6-rejected":                 "newer JavaScript is accepted",
	"i57-sh-stdin-not-closed":             "stdin is /dev/null: the command ends instead of hanging",
	"i79-py-script-option":                "`script:` works; in Digdag it never did",
	"c19-params-with-expression-at-start": "parameters of a start are data",
	"f14-error-py-message":                "error.message of py> is only the error; the traceback is error.stacktrace",
	"i73-py-no-module":                    "the traceback has no lines of a Python runner; the message is only the error",
	"i74-py-no-function":                  "the traceback has no lines of a Python runner; the message is only the error",
	"k07-include-as-value":                "the error names the value form of !include",
	"l08-cron-delay":                      "`delay` of a schedule is accepted, as the documentation says",
	"l24-skip-delayed-by-bad":             "an invalid skip_delayed_by is rejected at push",
	"n10-kill-running-sh":                 "a kill ends the running command immediately",
	"n11-kill-waiting-task":               "a kill does not wait for timers",
	"n12-kill-retry-waiting-group":        "a kill does not wait for timers",
	"n13-retry-killed":                    "a kill ends the running command immediately",
}
