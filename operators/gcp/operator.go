// Package gcp is the operators for Google Cloud: `bq>` and those whose names begin with `bq_`, for
// BigQuery, and `gcs_wait>` for Cloud Storage.
//
// Any agent calls them. A job of BigQuery is started once for a try of a task, however often a run
// is delivered: its id is stored before anything is sent. No thread is held while it runs.
package gcp

import (
	"zerodag/engine/param"
	"zerodag/operators"
)

// Operators are those for Google Cloud.
func Operators() []operators.Operator {
	return []operators.Operator{
		ofJob("bq", "runs a query on BigQuery", readQuery),
		ofJob("bq_load", "loads files of Cloud Storage into a table of BigQuery", readLoad),
		ofJob("bq_extract", "writes a table of BigQuery to Cloud Storage", readExtract),
		ddlOperator(),
		waitOperator(),
	}
}

// readConfiguration makes what a job is to do of the parameters of a task: a resource
// JobConfiguration.
type readConfiguration func(w *work) (*param.Map, error)
