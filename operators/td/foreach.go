package td

import (
	"context"
	"fmt"
	"math"

	"zerodag/engine/param"
	"zerodag/operators"
	"zerodag/operators/td/api"
)

// loop is the job of `td_for_each>`: a query whose rows are processed by tasks.
type loop struct {
	engineOptions
	text string
	do   *param.Map
}

func readLoop(w *work) (job, error) {
	l := &loop{}
	var err error
	if l.text, err = w.CommandText(w.params, "query"); err != nil {
		return nil, err
	}
	if l.engineOptions, err = w.engineOptions(); err != nil {
		return nil, err
	}
	l.do, err = w.Params.Do()
	return l, err
}

func (l *loop) start(ctx context.Context, w *work, domainKey string) (string, error) {
	j := l.job(w, l.text, domainKey)
	j.Scheduled = w.SessionTime
	id, err := w.client.Submit(ctx, j)
	if err == nil {
		w.log(operators.Info, "Started %s job id=%s:\n%s", l.engine, id, l.text)
	}
	return id, err
}

// mostLoop limits the text of all rows together, in bytes: they are one value of the attempt.
const mostLoop = 32 << 20

func (l *loop) finish(ctx context.Context, w *work, done ended) (operators.Result, error) {
	if done.err != nil {
		return operators.Result{}, done.err // the names of the columns are unknown
	}
	var group *param.Map
	var size int
	take := func(row []param.Value) (bool, error) {
		if group.Len() >= w.TaskLimit {
			return false, operators.Failf("Too many tasks. Limit: %d (task limit exceeded)", w.TaskLimit)
		}
		each, err := eachOf(done.info.Columns, row)
		if err != nil {
			return false, err
		}
		if size += len(param.Text(each)); size > mostLoop {
			return false, operators.Failf("td_for_each>: the rows of the query exceed %d MiB in total: select fewer columns", mostLoop>>20)
		}
		task, err := withEach(l.do, each)
		if err != nil {
			return false, err
		}
		group.Set(fmt.Sprintf("+td-for-each-%d", group.Len()), task)
		return true, nil
	}
	err := w.client.Rows(ctx, done.id, func() (api.Taker, error) {
		group, size = param.New(), 0
		return take, nil
	})
	if err != nil {
		return operators.Result{}, err
	}
	return w.Params.Group(group)
}

// eachOf returns a row as tasks see it.
func eachOf(columns []string, row []param.Value) (*param.Map, error) {
	for _, v := range row {
		switch v.(type) {
		case []param.Value:
			return nil, operators.Faultf("unsupported operation", "Unsupported column type: ARRAY")
		case *param.Map:
			return nil, operators.Faultf("unsupported operation", "Unsupported column type: MAP")
		}
	}
	each := param.New()
	for i := range min(len(columns), len(row)) {
		each.Set(columns[i], row[i])
		if f, isFloat := row[i].(float64); isFloat && math.IsNaN(f) {
			each.Set(columns[i], "NaN")
		}
	}
	return each, nil
}

// withEach returns a copy of the tasks that exports a row as `td.each`, in addition to their own exports. The row is
// data: nothing in it is evaluated.
func withEach(do, row *param.Map) (*param.Map, error) {
	export, err := mapOf(do, "_export")
	if err != nil {
		return nil, err
	}
	td, err := mapOf(export, "td")
	if err != nil {
		return nil, err
	}
	each, err := mapOf(td, "each")
	if err != nil {
		return nil, err
	}
	for k, v := range param.DataMap(row).All() {
		each.Set(k, v)
	}
	td.Set("each", each)
	export.Set("td", td)
	out := do.Clone()
	out.Set("_export", export)
	return out, nil
}

// mapOf returns a copy of the mapping under a key, an empty one if there is none.
func mapOf(m *param.Map, key string) (*param.Map, error) {
	own, err := operators.ReadOr(operators.NewParams(m), key, param.AsMap, param.New())
	if err != nil {
		return nil, err
	}
	return own.Clone(), nil
}
