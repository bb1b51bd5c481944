package td

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// waitOperators returns `td_wait>` and `td_wait_table>`.
func waitOperators() []operators.Operator {
	return []operators.Operator{
		waiting("td_wait", "TdWaitOperatorFactory", "waits until a query on Treasure Data returns true", readQueryWait),
		waiting("td_wait_table", "TdWaitTableOperatorFactory", "waits until a table of Treasure Data exists and has rows", readTableWait),
	}
}

// wait is the condition for which a task waits: a query that runs again and again.
type wait struct {
	engineOptions
	text     string
	interval time.Duration
	// scheduled is the result of TD_SCHEDULED_TIME() in the query; zero leaves it to the service.
	scheduled time.Time
	// ready checks whether it makes sense to run the query yet; nil means always.
	ready func(ctx context.Context) error
	// enough reports whether the first row of the query ends the wait; the row is nil if there is none.
	enough func(id string, row []param.Value) (bool, error)
	// alone means that no query is needed once it is ready.
	alone bool
}

func waiting(name, logger, summary string, read func(*work) (*wait, error)) operators.Operator {
	return operators.Operator{Name: name, Summary: summary, Retries: true, Clean: clean(logger),
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			w, err := newWork(t, logger)
			if err != nil {
				return operators.Result{}, err
			}
			o, err := read(w)
			if err != nil {
				return operators.Result{}, err
			}
			if err := w.connect(); err != nil {
				return operators.Result{}, err
			}
			defer w.close()
			return operators.Result{}, o.run(ctx, w)
		}}
}

// lastKey is the id of the last query: only the first one is logged.
const lastKey = "__last_job_id"

func (o *wait) run(ctx context.Context, w *work) error {
	if o.ready != nil {
		if err := o.ready(ctx); err != nil || o.alone {
			return err
		}
	}
	id, err := w.bring(ctx, func(domainKey string) (string, error) { return o.start(ctx, w, domainKey) })
	if err != nil {
		return err
	}
	rows, err := w.firstRows(ctx, id, 1)
	if err != nil {
		return w.unfinished(ctx, id, err)
	}
	var row []param.Value
	if len(rows) > 0 {
		row = rows[0]
	}
	done, err := o.enough(id, row)
	if err != nil {
		return err
	}
	if !done {
		next := w.State.Without(jobKey, resultKey).Clone()
		next.Set(lastKey, id)
		return &operators.Later{After: o.interval, State: next}
	}
	w.log(operators.Info, "Finished. Last job id=%s", id)
	return nil
}

func (o *wait) start(ctx context.Context, w *work, domainKey string) (string, error) {
	j := o.job(w, o.text, domainKey)
	j.Scheduled = o.scheduled
	id, err := w.client.Submit(ctx, j)
	if err != nil {
		return "", err
	}
	level := operators.Info
	if w.State.Has(lastKey) {
		level = operators.Debug
	}
	w.log(level, "Started %s job id=%s:\n%s", o.engine, id, o.text)
	return id, nil
}

func readQueryWait(w *work) (*wait, error) {
	o := &wait{enough: isTrue, scheduled: w.SessionTime}
	var err error
	if o.text, err = w.CommandText(w.params, "query"); err != nil {
		return nil, err
	}
	if o.interval, err = w.waitInterval(); err != nil {
		return nil, err
	}
	o.engineOptions, err = w.engineOptions()
	return o, err
}

// isTrue reports whether the first column is neither null nor false nor the whole number 0.
func isTrue(_ string, row []param.Value) (bool, error) {
	if row == nil {
		return false, nil
	}
	if len(row) == 0 {
		return false, operators.Failf("Got empty row in result of query")
	}
	switch x := row[0].(type) {
	case nil:
		return false, nil
	case bool:
		return x, nil
	case int64:
		return x != 0, nil
	}
	return true, nil
}

// mostExistencePause is the longest pause between two checks for the table.
const mostExistencePause = 30 * time.Second

// existsKey records that the table was seen; existsRetry counts failed checks.
const (
	existsKey   = "table_exists"
	existsRetry = "exists"
)

func readTableWait(w *work) (*wait, error) {
	of, err := operators.Read(w.params, "_command", asTable)
	if err != nil {
		return nil, err
	}
	o := &wait{}
	if o.interval, err = w.waitInterval(); err != nil {
		return nil, err
	}
	least, err := w.params.IntOr("rows", 0)
	if err != nil {
		return nil, err
	}
	if o.engineOptions, err = w.engineOptions(); err != nil {
		return nil, err
	}
	name := of.quoted(o.quote())
	o.text = "select count(*) from " + name
	if o.engine == "hive" {
		o.text = fmt.Sprintf("select count(*) from (select * from %s limit %d) sub", name, least)
	}
	o.alone = least <= 0
	o.ready = func(ctx context.Context) error { return o.tableThere(ctx, w, *of) }
	o.enough = func(id string, row []param.Value) (bool, error) { return counts(id, row, least) }
	return o, nil
}

// tableThere returns nil if the table exists, or existed.
func (o *wait) tableThere(ctx context.Context, w *work, of table) error {
	if w.State.Has(existsKey) {
		return nil
	}
	there, err := w.client.HasTable(ctx, of.in(w.database), of.name)
	if err != nil {
		n, bad := operators.NewParams(w.State.Map(existsRetry)).IntOr("retry", 0)
		if bad != nil {
			return bad
		}
		next := w.State.Clone()
		next.Set(existsRetry, param.New("retry", n+1))
		return w.failed(ctx, fmt.Sprintf("check existence of table '%s.%s'", of.in(w.database), of.name), err, n, next)
	}
	w.State = w.State.Without(existsRetry).Clone()
	if !there {
		return &operators.Later{After: min(o.interval, mostExistencePause), State: w.State}
	}
	w.State.Set(existsKey, true)
	return nil
}

// counts reports whether a count is large enough.
func counts(id string, row []param.Value, least int64) (bool, error) {
	if row == nil {
		return false, operators.Failf("Got unexpected empty result for count job: %s", id)
	}
	if len(row) != 1 {
		return false, operators.Failf("Got unexpected result row size for count job: %d", len(row))
	}
	switch x := row[0].(type) {
	case int64:
		return x >= least, nil
	case *big.Int:
		return true, nil
	}
	return false, operators.Failf("Got unexpected value type count job: %s", typeOf(row[0]))
}

// typeOf returns Digdag's name for the type of a value that is not a whole number.
func typeOf(v param.Value) string {
	switch v.(type) {
	case nil:
		return "NIL"
	case bool:
		return "BOOLEAN"
	case float64:
		return "FLOAT"
	case string:
		return "STRING"
	case *param.Map:
		return "MAP"
	}
	return "ARRAY"
}

// The limits of `interval`, unless the host sets others below config.td.wait.
const (
	shortestInterval = 30 * time.Second
	longestInterval  = 48 * time.Hour
	// Digdag intends to wait 10 minutes, and waits for the shorter of the two.
	usualInterval = 10 * time.Minute
)

func (w *work) waitInterval() (time.Duration, error) {
	p := operators.NewParams(w.Config.Map("td").Map("wait"))
	shortest, err := p.DurationOr("min_poll_interval", shortestInterval)
	if err != nil {
		return 0, err
	}
	longest, err := p.DurationOr("max_poll_interval", longestInterval)
	if err != nil {
		return 0, err
	}
	if longest < shortest {
		return 0, param.Errorf("invalid configuration value: config.td.wait.max_poll_interval")
	}
	usual, err := p.DurationOr("poll_interval", min(shortest, usualInterval))
	if err != nil {
		return 0, err
	}
	if usual < shortest || usual > longest {
		return 0, param.Errorf("invalid configuration value: config.td.wait.poll_interval")
	}
	interval, err := w.params.DurationOr("interval", usual)
	if err != nil {
		return 0, err
	}
	if interval < shortest || interval > longest {
		return 0, param.Errorf("poll interval must be at least %s and no greater than %s", span(shortest), span(longest))
	}
	return interval, nil
}

// span formats a duration as a user writes it: "2d", "1m 30s".
func span(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / unit.length; n > 0 {
			parts = append(parts, fmt.Sprintf("%d%s", n, unit.name))
			d -= n * unit.length
		}
	}
	if parts == nil {
		return "0s"
	}
	return strings.Join(parts, " ")
}
