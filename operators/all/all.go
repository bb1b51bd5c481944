// Package all lists the built-in operators. Programs that run tasks call it; it must contain nothing but the list.
package all

import (
	"slices"

	"zerodag/operators"
	"zerodag/operators/athena"
	"zerodag/operators/batch"
	"zerodag/operators/dynamodb"
	"zerodag/operators/ecs"
	"zerodag/operators/embulk"
	"zerodag/operators/emr"
	"zerodag/operators/gcp"
	"zerodag/operators/glue"
	"zerodag/operators/http"
	"zerodag/operators/inline"
	"zerodag/operators/lambda"
	"zerodag/operators/mail"
	"zerodag/operators/mysql"
	"zerodag/operators/notify"
	"zerodag/operators/paramstore"
	"zerodag/operators/pg"
	"zerodag/operators/plugin"
	"zerodag/operators/py"
	"zerodag/operators/rb"
	"zerodag/operators/redshift"
	"zerodag/operators/require"
	"zerodag/operators/s3"
	"zerodag/operators/sh"
	"zerodag/operators/slack"
	"zerodag/operators/sns"
	"zerodag/operators/sqs"
	"zerodag/operators/ssh"
	"zerodag/operators/stepfunctions"
	"zerodag/operators/td"
	"zerodag/operators/wait"
)

// Registry returns every built-in operator, and the entry that finds projects' own operators.
func Registry() operators.Registry {
	return operators.NewRegistry(slices.Concat(
		[]operators.Operator{
			athena.Operator(),
			batch.Operator(),
			dynamodb.Operator(),
			ecs.Operator(),
			embulk.Operator(),
			emr.Operator(),
			glue.Operator(),
			lambda.Operator(),
			mail.Operator(),
			mysql.Operator(),
			notify.Operator(),
			pg.Operator(),
			plugin.Operator(),
			py.Operator(),
			rb.Operator(),
			require.Operator(),
			sh.Operator(),
			slack.Operator(),
			sns.Operator(),
			sqs.Operator(),
			ssh.Operator(),
			stepfunctions.Operator(),
			wait.Operator(),
		},
		inline.Operators(),
		gcp.Operators(),
		http.Operators(),
		paramstore.Operators(),
		redshift.Operators(),
		s3.Operators(),
		td.Operators(),
	)...)
}
