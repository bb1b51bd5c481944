// Package td implements the operators for Treasure Data: `td>` and the `td_` operators.
//
// Any agent may run them. A job is started once per attempt at a task, however often a run is delivered: its domain key
// is stored before anything is sent. No thread is held while it runs.
package td

import (
	"context"

	"zerodag/operators"
)

// Operators returns the Treasure Data operators.
func Operators() []operators.Operator {
	return append([]operators.Operator{
		ddlOperator(),
		ofJob("td", "TdOperatorFactory", "runs a query on Treasure Data", readQuery),
		ofJob("td_run", "TdRunOperatorFactory", "runs a saved query of Treasure Data", readSaved),
		ofJob("td_for_each", "TdForEachOperatorFactory", "runs tasks for every row of a query on Treasure Data", readLoop),
		ofJob("td_load", "TdLoadOperatorFactory", "loads data into Treasure Data", readLoad),
		ofJob("td_table_export", "TdTableExportOperatorFactory", "writes a table of Treasure Data to Amazon S3", readTableExport),
		ofJob("td_result_export", "TdResultExportOperatorFactory", "exports the result of a Treasure Data job", readResultExport),
		ofJob("td_partial_delete", "TdPartialDeleteOperatorFactory", "deletes the rows of whole hours from a table of Treasure Data", readPartialDelete),
	}, waitOperators()...)
}

// job is built by an operator from its parameters: a request to Treasure Data, and what to do with its result.
type job interface {
	// start starts the job, or returns the job already started with this domain key.
	start(ctx context.Context, w *work, domainKey string) (id string, err error)
	// finish uses the job's result. It may be called again after a failure.
	finish(ctx context.Context, w *work, done ended) (operators.Result, error)
}

// ofJob returns an operator that runs one job.
func ofJob(name, logger, summary string, read func(*work) (job, error)) operators.Operator {
	return operators.Operator{Name: name, Summary: summary, Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			w, err := newWork(t, logger)
			if err != nil {
				return operators.Result{}, err
			}
			j, err := read(w)
			if err != nil {
				return operators.Result{}, err
			}
			if err := w.connect(); err != nil {
				return operators.Result{}, err
			}
			defer w.close()
			return w.run(ctx, j)
		},
		Clean: clean(logger),
	}
}

// clean ends the job that earlier runs left running.
func clean(logger string) func(ctx context.Context, t *operators.Task) error {
	return func(ctx context.Context, t *operators.Task) error {
		w, err := newWork(t, logger)
		if err != nil {
			return err
		}
		return w.kill(ctx)
	}
}
