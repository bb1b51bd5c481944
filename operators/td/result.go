package td

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/sql"
	"zerodag/operators/td/api"
)

// previewRows is the number of rows shown in a log.
const previewRows = 20

// wanted describes how to handle a query's rows.
type wanted struct {
	file    string // CSV of the rows; "" for none
	store   bool   // the first row is stored
	preview bool
}

func (w *work) wanted() (o wanted, err error) {
	if o.file, err = w.params.StringOr("download_file", ""); err != nil {
		return o, err
	}
	if o.store, err = w.params.BoolOr("store_last_results", false); err != nil {
		return o, err
	}
	o.preview, err = w.params.BoolOr("preview", false)
	return o, err
}

// use handles a job's rows as the task requires. to is the table to which they were written, nil for none.
func (w *work) use(ctx context.Context, done ended, o wanted, to *table) (operators.Result, error) {
	if (o.file != "" || o.store) && done.err != nil {
		return operators.Result{}, done.err // the names of the columns are unknown
	}
	if o.preview && !w.State.Has(previewKey) {
		if err := w.preview(ctx, done, to); err != nil {
			return operators.Result{}, err
		}
		w.remember(previewKey, true)
	}
	result := operators.Result{}
	if o.store {
		last, err := w.lastRow(ctx, done)
		if err != nil {
			return operators.Result{}, err
		}
		result = operators.Result{Store: param.New("td", param.New("last_results", last)), ResetStore: [][]string{{"td", "last_results"}}}
	}
	// The file comes last: the next run of the task may be in a different folder.
	if o.file == "" {
		return result, nil
	}
	return result, w.download(ctx, done, o.file)
}

// lastRow returns the first row of a job as an object, an empty one if there is none.
func (w *work) lastRow(ctx context.Context, done ended) (*param.Map, error) {
	if w.State.Has(rowKey) {
		return w.State.Map(rowKey), nil
	}
	rows, err := w.firstRows(ctx, done.id, 1)
	if err != nil {
		return nil, err
	}
	last := param.New()
	if len(rows) > 0 {
		last = object(done.info.Columns, rows[0])
	}
	w.remember(rowKey, last)
	return last, nil
}

// download writes all rows to a file. They are never all in memory.
func (w *work) download(ctx context.Context, done ended, file string) error {
	var out *sql.CSV
	closeFile := func() {
		if out != nil {
			out.Close()
		}
	}
	defer func() { closeFile() }()
	err := w.client.Rows(ctx, done.id, func() (api.Taker, error) {
		closeFile()
		var err error
		if out, err = sql.NewCSV(w.Task, file); err != nil {
			return nil, err
		}
		return func(row []param.Value) (bool, error) { return true, out.Line(csvLine(row)) }, out.Header(done.info.Columns)
	})
	if err != nil {
		return err
	}
	return out.Keep()
}

// firstRows returns the first rows of a job; a statement without rows also has no result.
func (w *work) firstRows(ctx context.Context, id string, most int) ([][]param.Value, error) {
	var rows [][]param.Value
	err := w.client.Rows(ctx, id, func() (api.Taker, error) {
		rows = nil
		return func(row []param.Value) (bool, error) {
			rows = append(rows, row)
			return len(rows) < most, nil
		}, nil
	})
	if api.Is(err, http.StatusNotFound) {
		return nil, nil
	}
	return rows, err
}

// preview shows some rows in the task's log. A failed preview does not fail the task, because its work is done. The
// rows of a table are read by a separate query.
func (w *work) preview(ctx context.Context, done ended, to *table) error {
	of := "job id " + done.id
	if to != nil {
		query := "-- preview results of " + of + "\nSELECT * FROM " + to.quoted(`"`) + " LIMIT 20"
		id, err := w.bring(ctx, func(key string) (string, error) {
			return w.client.Submit(ctx, api.Job{Type: "presto", Database: w.database, Query: query, DomainKey: key})
		})
		var later *operators.Later
		switch {
		case errors.As(err, &later), ctx.Err() != nil:
			return err
		case err == nil:
			of = "table " + to.String()
			done.id = id
			done.info, err = w.client.JobInfo(ctx, id)
		}
		if err != nil {
			return w.noPreview(ctx, err)
		}
	}
	rows, err := w.firstRows(ctx, done.id, previewRows)
	if err != nil {
		return w.noPreview(ctx, err)
	}
	if len(rows) == 0 {
		w.log(operators.Info, "preview of %s: (no results)", of)
		return nil
	}
	var text strings.Builder
	names := make([]string, len(done.info.Columns))
	for i, name := range done.info.Columns {
		names[i] = sql.CSVText(name)
	}
	text.WriteString(strings.Join(names, ",") + "\r\n")
	for _, row := range rows {
		text.WriteString(strings.Join(csvLine(row), ",") + "\r\n")
	}
	w.log(operators.Info, "preview of %s:\r\n%s", of, text.String())
	return nil
}

func (w *work) noPreview(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.log(operators.Warn, "Getting rows for preview failed. Ignoring this error: %v", err)
	return nil
}

// object returns a row by the names of its columns.
func object(columns []string, row []param.Value) *param.Map {
	m := param.New()
	for i := range min(len(columns), len(row)) {
		m.Set(columns[i], finite(row[i]))
	}
	return m
}

// finite converts values that JSON has no number for to null.
func finite(v param.Value) param.Value {
	if f, isFloat := v.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil
	}
	return v
}

// csvLine formats a row as CSV: text unchanged, null as nothing, all others as JSON.
func csvLine(row []param.Value) []string {
	texts := make([]string, len(row))
	for i, v := range row {
		switch x := v.(type) {
		case nil:
		case string:
			texts[i] = sql.CSVText(x)
		default:
			texts[i] = sql.CSVText(param.Text(finite(x)))
		}
	}
	return texts
}
