// Package gcp implements the operators for Google Cloud: `bq>` and the `bq_` operators for BigQuery, and `gcs_wait>`
// for Cloud Storage.
//
// Any agent may run them. A BigQuery job is started once per attempt at a task, however often a run is delivered: its
// id is stored before anything is sent. No thread is held while it runs.
package gcp

import (
	"zerodag/engine/param"
	"zerodag/operators"
)

// Operators returns the Google Cloud operators.
func Operators() []operators.Operator {
	return []operators.Operator{
		ofJob("bq", "runs a query on BigQuery", readQuery),
		ofJob("bq_load", "loads files of Cloud Storage into a table of BigQuery", readLoad),
		ofJob("bq_extract", "writes a table of BigQuery to Cloud Storage", readExtract),
		ddlOperator(),
		waitOperator(),
	}
}

// readConfiguration builds a job's JobConfiguration resource from a task's parameters.
type readConfiguration func(w *work) (*param.Map, error)
