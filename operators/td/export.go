package td

import (
	"context"
	"errors"
	"slices"
	"time"

	"zerodag/engine/param"
	"zerodag/engine/schedule"
	"zerodag/operators"
	"zerodag/operators/td/api"
)

// tableExport is the job of `td_table_export>`.
type tableExport struct{ api.TableExport }

func readTableExport(w *work) (job, error) {
	p := w.params
	database, err := p.String("database")
	if err != nil {
		return nil, err
	}
	of, err := operators.Read(p, "table", asTable)
	if err != nil {
		return nil, err
	}
	e := &tableExport{api.TableExport{Database: of.in(database), Table: of.name}}
	if e.Format, err = p.String("file_format"); err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"tsv.gz", "jsonl.gz", "json.gz", "line-json.gz"}, e.Format) {
		return nil, param.Errorf("invalid file_format option")
	}
	if e.From, err = w.exportTime("from"); err != nil {
		return nil, err
	}
	if e.To, err = w.exportTime("to"); err != nil {
		return nil, err
	}
	if e.Bucket, err = p.String("s3_bucket"); err != nil {
		return nil, err
	}
	if e.Prefix, err = p.String("s3_path_prefix"); err != nil {
		return nil, err
	}
	e.Pool, err = p.StringOr("hive_pool_name", "")
	return e, err
}

// exportTime reads seconds since 1970, or a time in the task's zone unless it has an offset.
func (w *work) exportTime(key string) (time.Time, error) {
	if seconds, err := w.params.Int(key); err == nil {
		return time.Unix(seconds, 0), nil
	}
	text, err := w.params.String(key)
	if err != nil {
		return time.Time{}, err
	}
	zone, err := w.params.StringOr("timezone", w.Zone)
	if err != nil {
		return time.Time{}, err
	}
	in, err := schedule.Zone(zone)
	if err != nil {
		return time.Time{}, param.Errorf("'timezone' is not a valid time zone: %s", zone)
	}
	if at, err := time.Parse("2006-01-02 15:04:05 -0700", text); err == nil {
		return at, nil
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05", text, in)
	if err != nil {
		return time.Time{}, param.Errorf("'%s' must be seconds since 1970, or a time such as 2016-01-01 00:00:00 or 2016-01-01 00:00:00 +0900, not %q", key, text)
	}
	return at, nil
}

func (e *tableExport) start(ctx context.Context, w *work, domainKey string) (string, error) {
	x := e.TableExport
	x.DomainKey = domainKey
	for key, into := range map[string]*string{"access_key_id": &x.AccessKey, "secret_access_key": &x.SecretKey} {
		value, found, err := w.Secrets.Get("aws.s3." + key)
		if err == nil && !found {
			value, err = w.RequireSecret("aws." + key)
		}
		if err != nil {
			return "", err
		}
		*into = value
	}
	id, err := w.client.ExportTable(ctx, x)
	if err == nil {
		w.log(operators.Info, "Started table export job id=%s", id)
	}
	return id, err
}

func (*tableExport) finish(context.Context, *work, ended) (operators.Result, error) {
	return operators.Result{}, nil
}

// resultExport is the job of `td_result_export>`.
type resultExport struct {
	of, connection string
	settings       *param.Map
	source         string // the text from which settings were parsed; "" for a mapping
}

// readResultExport only reads the task's own parameters, as in Digdag.
func readResultExport(w *work) (job, error) {
	e := &resultExport{}
	w.anywhere = true
	var err error
	if e.of, err = w.Params.String("job_id"); err != nil {
		return nil, err
	}
	if e.connection, err = w.Params.String("result_connection"); err != nil {
		return nil, err
	}
	if e.settings, e.source, err = resultSettings(w.Params); err != nil {
		return nil, err
	}
	if e.settings == nil {
		_, err = operators.Read(w.Params, "result_settings", param.ParseMap)
	}
	return e, err
}

// start sends a request for which Treasure Data has no domain key. It is sent again only if it cannot have taken
// effect: a repeated export writes its rows twice.
func (e *resultExport) start(ctx context.Context, w *work, _ string) (string, error) {
	connection, err := w.client.Connection(ctx, e.connection)
	if err != nil {
		return "", err
	}
	settings, err := settingsText(w.Task, e.settings, e.source)
	if err != nil {
		return "", err
	}
	id, err := w.client.ExportResult(ctx, e.of, connection, settings)
	var answer *api.Error
	switch {
	case err == nil:
		w.log(operators.Info, "Started result export job id=%s", id)
	case ctx.Err() == nil && (!errors.As(err, &answer) || answer.Status >= 500):
		return "", operators.Causedf(err, "td_result_export>: Treasure Data may have started the export of job %s, but its response was lost: check the jobs "+
			"of the account before you run it again (%v)", e.of, err)
	}
	return id, err
}

func (*resultExport) finish(context.Context, *work, ended) (operators.Result, error) {
	return operators.Result{}, nil
}
