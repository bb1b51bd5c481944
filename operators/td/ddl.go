package td

import (
	"context"
	"strings"

	"zerodag/engine/param"
	"zerodag/operators"
)

// ddlOperator returns `td_ddl>`.
func ddlOperator() operators.Operator {
	return operators.Operator{Name: "td_ddl", Summary: "creates, empties, renames and deletes databases and tables of Treasure Data", Retries: true,
		Run: func(ctx context.Context, t *operators.Task) (operators.Result, error) {
			w, err := newWork(t, "TdDdlOperatorFactory")
			if err != nil {
				return operators.Result{}, err
			}
			d, err := readDDL(w)
			if err != nil {
				return operators.Result{}, err
			}
			if err := w.connect(); err != nil {
				return operators.Result{}, err
			}
			defer w.close()
			return operators.Result{}, d.run(ctx)
		}}
}

// ddl holds the changes that a task requests, as steps in order.
type ddl struct {
	*work
	renames []rename
	steps   []step
}

type rename struct {
	from table
	to   string
}

// step is one change. All steps except a rename may be repeated together with the previous ones: repeating an earlier
// step after a rename would lose the table.
type step struct {
	rename bool
	run    func(ctx context.Context) error
}

func readDDL(w *work) (*ddl, error) {
	d := &ddl{work: w}
	lists := map[string][]table{}
	for _, key := range []string{"drop_databases", "create_databases", "empty_databases", "drop_tables", "create_tables", "empty_tables"} {
		list, err := tablesOf(w.params, key)
		if err != nil {
			return nil, err
		}
		lists[key] = list
	}
	if err := d.readRenames(); err != nil {
		return nil, err
	}
	each := func(run func(ctx context.Context, t table) error, keys ...string) {
		for _, key := range keys {
			for _, t := range lists[key] {
				d.steps = append(d.steps, step{run: func(ctx context.Context) error { return run(ctx, t) }})
			}
		}
	}
	each(d.dropDatabase, "drop_databases", "empty_databases")
	each(d.createDatabase, "create_databases", "empty_databases")
	each(d.dropTable, "drop_tables", "empty_tables")
	each(d.createTable, "create_tables", "empty_tables")
	for _, r := range d.renames {
		d.steps = append(d.steps, step{rename: true, run: func(ctx context.Context) error { return d.rename(ctx, r) }})
	}
	return d, nil
}

// tablesOf reads a list of names, or such a list as JSON; database names are read as tables, in which the dot does not
// matter.
func tablesOf(p *operators.Params, key string) ([]table, error) {
	list, err := operators.ReadOr(p, key, param.ParseList, nil)
	if err != nil {
		return nil, err
	}
	names := make([]table, len(list))
	for i, v := range list {
		name, err := asTable(key, v)
		if err != nil {
			return nil, err
		}
		names[i] = *name
	}
	return names, nil
}

func (d *ddl) readRenames() error {
	list, err := operators.ReadOr(d.params, "rename_tables", param.ParseList, nil)
	if err != nil {
		return err
	}
	for _, v := range list {
		m, err := param.AsMap("rename_tables", v)
		if err != nil {
			return err
		}
		p := operators.NewParams(m)
		from, err := operators.Read(p, "from", asTable)
		if err != nil {
			return err
		}
		to, err := p.String("to")
		if err != nil {
			return err
		}
		if strings.Contains(to, ".") {
			return param.Errorf("'to' option of rename_tables can't include database name")
		}
		d.renames = append(d.renames, rename{*from, to})
	}
	return nil
}

// ddlKey is the task's state: {checked, operation, retry}.
const ddlKey = "ddl"

// progress holds the progress of the task.
type progress struct {
	checked   bool  // all tables to rename exist, or existed
	operation int64 // the first step that is not known to be done
	retry     int64 // consecutive failures
}

func (d *ddl) progress() (p progress, err error) {
	of := operators.NewParams(d.State.Map(ddlKey))
	if p.checked, err = of.BoolOr("checked", false); err != nil {
		return p, err
	}
	if p.operation, err = of.IntOr("operation", 0); err != nil {
		return p, err
	}
	p.retry, err = of.IntOr("retry", 0)
	return p, err
}

func (p progress) with(state *param.Map) *param.Map {
	next := state.Clone()
	next.Set(ddlKey, param.New("checked", p.checked, "operation", p.operation, "retry", p.retry))
	return next
}

// run performs the steps. Before each rename, it stores the progress of the task: earlier steps are never repeated
// after a rename.
func (d *ddl) run(ctx context.Context) error {
	p, err := d.progress()
	if err != nil {
		return err
	}
	if !p.checked {
		if err := d.check(ctx); err != nil {
			return d.again(ctx, "check the tables to rename", err, p)
		}
		p.checked = true
	}
	stored := p.operation
	for i := p.operation; i < int64(len(d.steps)); i++ {
		p.operation = i
		if d.steps[i].rename && (stored != i || !d.State.Has(ddlKey)) {
			p.retry = 0
			return &operators.Later{State: p.with(d.State)}
		}
		if err := d.steps[i].run(ctx); err != nil {
			return d.again(ctx, "change databases and tables", err, p)
		}
		p.retry = 0
	}
	return nil
}

func (d *ddl) again(ctx context.Context, doing string, err error, p progress) error {
	n := p.retry
	p.retry++
	return d.failed(ctx, doing, err, n, p.with(d.State))
}

// check makes sure that a table that is missing when it must be renamed has already been renamed.
func (d *ddl) check(ctx context.Context) error {
	for _, r := range d.renames {
		database := r.from.in(d.database)
		there, err := d.client.HasTable(ctx, database, r.from.name)
		if err != nil {
			return err
		}
		if !there {
			return param.Errorf("Renaming table %s.%s doesn't exist", database, r.from.name)
		}
	}
	return nil
}

func (d *ddl) dropDatabase(ctx context.Context, t table) error {
	d.log(operators.Info, "Deleting TD database %s", t)
	return d.client.EnsureNoDatabase(ctx, t.String())
}

func (d *ddl) createDatabase(ctx context.Context, t table) error {
	d.log(operators.Info, "Creating TD database %s", t)
	return d.client.EnsureDatabase(ctx, t.String())
}

func (d *ddl) dropTable(ctx context.Context, t table) error {
	d.log(operators.Info, "Deleting TD table %s.%s", t.in(d.database), t.name)
	return d.client.EnsureNoTable(ctx, t.in(d.database), t.name)
}

func (d *ddl) createTable(ctx context.Context, t table) error {
	d.log(operators.Info, "Creating TD table %s.%s", t.in(d.database), t.name)
	return d.client.EnsureTable(ctx, t.in(d.database), t.name)
}

func (d *ddl) rename(ctx context.Context, r rename) error {
	d.log(operators.Info, "Renaming TD table %s.%s -> %s", r.from.in(d.database), r.from.name, r.to)
	return d.client.EnsureRenamed(ctx, r.from.in(d.database), r.from.name, r.to)
}
