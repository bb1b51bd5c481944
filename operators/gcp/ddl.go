package gcp

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/operators"
)

// ddlOperator returns `bq_ddl>`.
func ddlOperator() operators.Operator {
	return operators.Operator{Name: "bq_ddl", Summary: "creates, empties and deletes datasets and tables of BigQuery", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			w, err := newWork(t, "bq", scopeBigQuery, "BqDdlOperatorFactory")
			if err != nil {
				return operators.Result{}, err
			}
			w.params.Get("_command") // it has no meaning, but is often present
			steps, err := w.ddl()
			if err != nil {
				return operators.Result{}, err
			}
			return operators.Result{}, w.change(ctx, steps)
		}}
}

// step is one change. It may be repeated, alone or with the previous ones.
type step func(ctx context.Context) error

// Values that a task stores between its runs: the first step that is not known to be done, and the consecutive failure
// count. The names are Digdag's.
const (
	operationKey = "operation"
	requestKey   = "request"
)

// mostSteps is how many steps a run performs, since its duration may be limited; the next run continues.
const mostSteps = 100

// change performs the steps.
func (w *work) change(ctx context.Context, steps []step) error {
	p, err := readProgress(w.State.Map(requestKey))
	if err != nil {
		return err
	}
	first, err := operators.NewParams(w.State).IntOr(operationKey, 0)
	if err != nil {
		return err
	}
	first = max(first, 0)
	for i := first; i < int64(len(steps)); i++ {
		if i == first+mostSteps {
			return &operators.Later{State: under(w.State.Without(requestKey), operationKey, i)}
		}
		err := steps[i](ctx)
		if err == nil {
			p.retries = 0
			continue
		}
		n := p.retries
		p.retries++
		return w.failed(ctx, "BigQuery DDL operation failed", err, n, under(under(w.State, operationKey, i), requestKey, p.tree(nil)))
	}
	return nil
}

// ddl returns the changes that a task requests, in Digdag's order.
func (w *work) ddl() ([]step, error) {
	var steps []step
	for _, kind := range []struct {
		key  string
		read func(item param.Value) ([]step, error)
	}{
		{"delete_datasets", func(v param.Value) ([]step, error) { return w.deleteDataset(v) }},
		{"empty_datasets", func(v param.Value) ([]step, error) { return w.makeDataset(v, true) }},
		{"create_datasets", func(v param.Value) ([]step, error) { return w.makeDataset(v, false) }},
		{"delete_tables", func(v param.Value) ([]step, error) { return w.deleteTable(v) }},
		{"empty_tables", func(v param.Value) ([]step, error) { return w.makeTable(v, true) }},
		{"create_tables", func(v param.Value) ([]step, error) { return w.makeTable(v, false) }},
	} {
		items, err := operators.ReadOr(w.params, kind.key, param.ParseList, nil)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			more, err := kind.read(item)
			if err != nil {
				return nil, err
			}
			steps = append(steps, more...)
		}
	}
	return steps, nil
}

func (w *work) deleteDataset(item param.Value) ([]step, error) {
	text, isText := item.(string)
	if !isText {
		return nil, param.Errorf("Bad dataset reference: %s", param.Text(item))
	}
	d, err := readDataset(text)
	if err != nil {
		return nil, err
	}
	d.project = orElse(d.project, w.project)
	return []step{func(ctx context.Context) error { return w.client.EnsureNoDataset(ctx, d.project, d.id) }}, nil
}

// makeDataset creates a dataset, or recreates it if it must be empty. Deletion and creation are one step: otherwise, a
// repeated run could delete a dataset whose creation was not acknowledged.
func (w *work) makeDataset(item param.Value, empty bool) ([]step, error) {
	resource, err := w.datasetResource(item)
	if err != nil {
		return nil, err
	}
	name := operators.NewParams(resource.Map("datasetReference"))
	project, err := name.String("projectId")
	if err != nil {
		return nil, err
	}
	id, err := name.String("datasetId")
	return []step{func(ctx context.Context) error {
		if empty {
			if err := w.client.EnsureNoDataset(ctx, project, id); err != nil {
				return err
			}
		}
		return w.client.EnsureDataset(ctx, project, resource)
	}}, err
}

func (w *work) deleteTable(item param.Value) ([]step, error) {
	text, isText := item.(string)
	if !isText {
		return nil, param.Errorf("Bad table reference: %s", param.Text(item))
	}
	t, err := w.readTable(text)
	return []step{func(ctx context.Context) error { return w.client.EnsureNoTable(ctx, t.project, t.dataset, t.id) }}, err
}

func (w *work) makeTable(item param.Value, empty bool) ([]step, error) {
	t, resource, err := w.tableResource(item)
	return []step{func(ctx context.Context) error {
		if empty {
			if err := w.client.EnsureNoTable(ctx, t.project, t.dataset, t.id); err != nil {
				return err
			}
		}
		return w.client.EnsureTable(ctx, t.project, t.dataset, resource)
	}}, err
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// datasetResource returns a Dataset resource, built from a name or a mapping.
func (w *work) datasetResource(item param.Value) (*param.Map, error) {
	if text, isText := item.(string); isText {
		d, err := readDataset(text)
		d.project = orElse(d.project, w.project)
		return param.New("datasetReference", d.resource()), err
	}
	d := description{w: w, what: "dataset", item: item}
	of := dataset{project: w.project}
	d.text("project", &of.project)
	d.required("id", &of.id)
	resource := param.New("datasetReference", of.resource())
	d.copy(resource, "friendly_name", "friendlyName", asText)
	d.copy(resource, "description", "description", asText)
	d.copy(resource, "default_table_expiration", "defaultTableExpirationMs", func(key string, v param.Value) (param.Value, error) {
		length, err := param.AsDuration(key, v)
		return strconv.FormatInt(length.Milliseconds(), 10), err
	})
	d.copy(resource, "location", "location", asText)
	d.copy(resource, "access", "access", asList)
	d.copy(resource, "labels", "labels", asLabels)
	return resource, d.end()
}

// tableResource returns a Table resource and its name, built from a name or a mapping.
func (w *work) tableResource(item param.Value) (table, *param.Map, error) {
	if text, isText := item.(string); isText {
		t, err := w.readTable(text)
		return t, param.New("tableReference", t.resource()), err
	}
	d := description{w: w, what: "table", item: item}
	of, err := w.dataset()
	if err != nil {
		return table{}, nil, err
	}
	t := table{project: w.project}
	if of != nil {
		t.dataset = of.id
	}
	d.text("project", &t.project)
	d.text("dataset", &t.dataset)
	d.required("id", &t.id)
	resource := param.New("tableReference", t.resource())
	d.copy(resource, "friendly_name", "friendlyName", asText)
	d.copy(resource, "description", "description", asText)
	d.copy(resource, "expiration_time", "expirationTime", w.asTime)
	d.copy(resource, "schema", "schema", asMapping)
	d.copy(resource, "time_partitioning", "timePartitioning", asMapping)
	d.copy(resource, "view", "view", asMapping)
	d.copy(resource, "labels", "labels", asLabels)
	if d.params.Has("access") {
		w.log(operators.Warn, "'access' of the table %s has no effect: in BigQuery, only datasets have one", t.id)
	}
	if err := d.end(); err != nil {
		return table{}, nil, err
	}
	if t.dataset == "" {
		return table{}, nil, param.Errorf("Bad table reference or configuration: Missing 'dataset'")
	}
	return t, resource, nil
}

// description reads the mapping that describes a dataset or a table. It keeps its first error.
type description struct {
	w      *work
	what   string
	item   param.Value
	params *operators.Params
	err    error
}

// read passes on a value that exists.
func (d *description) read(key string, use func(v param.Value) error) {
	if d.params == nil {
		m, err := param.AsMap(d.what, d.item)
		d.params, d.err = operators.NewParams(m), err
	}
	if !d.params.Has(key) || d.err != nil {
		return
	}
	v, _ := d.params.Get(key)
	d.err = use(v)
}

func (d *description) text(key string, into *string) {
	d.read(key, func(v param.Value) (err error) {
		*into, err = param.AsString(key, v)
		return err
	})
}

func (d *description) required(key string, into *string) {
	d.text(key, into)
	if d.err == nil && *into == "" {
		d.err = param.Errorf("'%s' is missing", key)
	}
}

func (d *description) copy(into *param.Map, key, name string, as func(string, param.Value) (param.Value, error)) {
	d.read(key, func(v param.Value) error {
		sent, err := as(key, v)
		if err == nil {
			into.Set(name, sent)
		}
		return err
	})
}

// end returns the first error, and logs keys that have no meaning.
func (d *description) end() error {
	var config *param.ConfigError
	switch {
	case errors.As(d.err, &config):
		return param.Errorf("Invalid %s reference or configuration: %s: %s", d.what, param.Text(d.item), config.Message)
	case d.err != nil:
		return d.err
	}
	for _, key := range d.params.All().Keys() {
		if asked := d.params.Asked(); !slices.Contains(asked, key) {
			hint := ""
			if near := param.Suggest(key, asked); len(near) > 0 {
				hint = ": did you mean " + strings.Join(near, ", ") + "?"
			}
			d.w.log(operators.Error, "'%s' of a %s is not used at task %s%s", key, d.what, d.w.TaskName, hint)
		}
	}
	return nil
}

// asLabels reads labels, whose values are text.
func asLabels(key string, v param.Value) (param.Value, error) {
	m, err := param.AsMap(key, v)
	if err != nil {
		return nil, err
	}
	out := param.New()
	for name, v := range m.All() {
		text, err := param.AsString(name, v)
		if err != nil {
			return nil, err
		}
		out.Set(name, text)
	}
	return out, nil
}

// asTime reads seconds since 1970, a time with an offset, or a time in the task's zone. BigQuery expects milliseconds,
// as text.
func (w *work) asTime(key string, v param.Value) (param.Value, error) {
	millis := func(at time.Time) param.Value { return strconv.FormatInt(at.UnixMilli(), 10) }
	if seconds, err := param.AsInt(key, v); err == nil {
		return millis(time.Unix(seconds, 0)), nil
	}
	text, err := param.AsString(key, v)
	if err != nil {
		return nil, err
	}
	for _, form := range []string{"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(form, text); err == nil {
			return millis(at), nil
		}
	}
	zone, err := w.params.StringOr("timezone", w.Zone)
	if err != nil {
		return nil, err
	}
	in, err := schedule.Zone(zone)
	if err != nil {
		return nil, param.Errorf("'timezone' is not a valid time zone: %s", zone)
	}
	for _, form := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(form, text, in); err == nil {
			return millis(at), nil
		}
	}
	return nil, param.Errorf("'%s' must be seconds since 1970, or a time such as 2016-11-01T01:02:03Z or 2016-11-01T01:02:03, not %q", key, text)
}
