package td

import (
	"context"

	"zerodag/engine/param"
	"zerodag/operators"
)

// query is the job of `td>`.
type query struct {
	engineOptions
	text           string
	into, create   *table // destination of its rows; at most one
	resultURL      string // with secrets not yet replaced
	connection     string
	settings       *param.Map // with secrets not yet replaced; nil for none
	settingsSource string     // the text from which settings were parsed; "" for none
	rows           wanted
}

func readQuery(w *work) (job, error) {
	q := &query{}
	p := w.params
	var err error
	if q.text, err = w.CommandText(p, "query"); err != nil {
		return nil, err
	}
	if q.into, err = operators.ReadOr(p, "insert_into", asTable, nil); err != nil {
		return nil, err
	}
	if q.create, err = operators.ReadOr(p, "create_table", asTable, nil); err != nil {
		return nil, err
	}
	if q.into != nil && q.create != nil {
		return nil, param.Errorf("Setting both insert_into and create_table is invalid")
	}
	if q.engineOptions, err = w.engineOptions(); err != nil {
		return nil, err
	}
	if q.rows, err = w.wanted(); err != nil {
		return nil, err
	}
	if q.rows.file != "" && (q.into != nil || q.create != nil) {
		return nil, param.Errorf("download_file is invalid if insert_into or create_table is set")
	}
	if q.resultURL, err = p.StringOr("result_url", ""); err != nil {
		return nil, err
	}
	if q.connection, err = p.StringOr("result_connection", ""); err != nil {
		return nil, err
	}
	if q.settings, q.settingsSource, err = resultSettings(p); err != nil {
		return nil, err
	}
	if q.settings != nil && q.connection == "" {
		return nil, param.Errorf("result_settings is valid only if result_connection is set")
	}
	return q, nil
}

func (q *query) start(ctx context.Context, w *work, domainKey string) (string, error) {
	statement, err := q.statement(ctx, w)
	if err != nil {
		return "", err
	}
	text := withOrigin(w.Task, statement)
	j := q.job(w, text, domainKey)
	j.Scheduled = w.SessionTime
	if j.ResultURL, err = w.SecretText(q.resultURL); err != nil {
		return "", err
	}
	if q.connection != "" {
		if j.ResultConnection, err = w.client.Connection(ctx, q.connection); err != nil {
			return "", err
		}
	}
	if q.settings != nil {
		if j.ResultSettings, err = settingsText(w.Task, q.settings, q.settingsSource); err != nil {
			return "", err
		}
	}
	id, err := w.client.Submit(ctx, j)
	if err != nil {
		return "", err
	}
	w.log(operators.Info, "Started %s job id=%s:\n%s", q.engine, id, text)
	return id, nil
}

// statement returns the query with the command that writes its rows to a table. It creates the table first if rows are
// only inserted.
func (q *query) statement(ctx context.Context, w *work) (string, error) {
	switch {
	case q.into == nil && q.create == nil:
		return q.text, nil
	case q.create != nil && q.engine != "hive":
		name := q.create.quoted(q.quote())
		return withCommand("DROP TABLE IF EXISTS "+name+";\nCREATE TABLE "+name+" AS", q.text), nil
	}
	to, command := q.into, "INSERT INTO "
	switch {
	case q.create != nil:
		to, command = q.create, "INSERT OVERWRITE TABLE "
	case q.engine == "hive":
		command = "INSERT INTO TABLE "
	}
	if err := w.client.EnsureTable(ctx, to.in(w.database), to.name); err != nil {
		return "", err
	}
	return withCommand(command+to.quoted(q.quote()), q.text), nil
}

func (q *query) finish(ctx context.Context, w *work, done ended) (operators.Result, error) {
	to := q.into
	if to == nil {
		to = q.create
	}
	return w.use(ctx, done, q.rows, to)
}

// resultSettings reads a mapping, or a mapping as JSON; nil if there is none. It also returns the text.
func resultSettings(p *operators.Params) (*param.Map, string, error) {
	v, _ := p.Get("result_settings")
	if v == nil {
		return nil, "", nil
	}
	text, _ := v.(string)
	m, err := param.ParseMap("result_settings", v)
	return m, text, err
}

// settingsText returns the JSON of settings, with their secrets.
func settingsText(t *operators.Task, settings *param.Map, source string) (string, error) {
	v, err := withSecrets(t, settings, source)
	if err != nil {
		return "", err
	}
	return param.Text(v), nil
}
