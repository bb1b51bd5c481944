package td

import (
	"zerodag/engine/param"
	"zerodag/operators/td/api"
)

// engineOptions describe a query's engine and its settings.
type engineOptions struct {
	engine   string // "presto", "trino" or "hive"
	version  string
	pool     string
	priority int64
	retries  int64
}

func (w *work) engineOptions() (o engineOptions, err error) {
	if o.engine, err = w.params.StringOr("engine", "presto"); err != nil {
		return o, err
	}
	if o.engine != "presto" && o.engine != "trino" && o.engine != "hive" {
		return o, param.Errorf("Unknown 'engine:' option (available options are: hive and presto): %s", o.engine)
	}
	if o.version, err = w.params.StringOr("engine_version", ""); err != nil {
		return o, err
	}
	hive, err := w.params.StringOr("hive_engine_version", "")
	if err != nil {
		return o, err
	}
	if o.engine == "hive" && hive != "" {
		o.version = hive
	}
	if o.pool, err = w.params.StringOr(o.engine+"_pool_name", ""); err != nil {
		return o, err
	}
	if o.priority, err = w.params.IntOr("priority", 0); err != nil {
		return o, err
	}
	o.retries, err = w.params.IntOr("job_retry", 0)
	return o, err
}

// quote returns the quote character for table names.
func (o engineOptions) quote() string {
	if o.engine == "hive" {
		return "`"
	}
	return `"`
}

// job returns the job for a query with these options.
func (o engineOptions) job(w *work, query, domainKey string) api.Job {
	return api.Job{Type: o.engine, Database: w.database, Query: query, Priority: o.priority, Retries: &o.retries, Pool: o.pool, Engine: o.version,
		DomainKey: domainKey}
}
