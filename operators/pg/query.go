package pg

import (
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// query is what a task asks of the server.
type query struct {
	sql          string
	create, into *table // where the rows of sql go; at most one
	file         string // CSV of the rows; "" for none
	store        string // which rows are stored: "", first, all

	strict bool
	status table         // of queries that are done
	keep   time.Duration // how long a row stays in it
}

// readOnly says whether the rows are what is asked for.
func (q *query) readOnly() bool { return q.file != "" || q.store != "" }

func readQuery(t *operators.Task, p *operators.Params) (*query, error) {
	q := &query{}
	var err error
	if q.sql, err = t.CommandText(p, "query"); err != nil {
		return nil, err
	}
	if q.into, err = operators.ReadOr(p, "insert_into", asTable, nil); err != nil {
		return nil, err
	}
	if q.create, err = operators.ReadOr(p, "create_table", asTable, nil); err != nil {
		return nil, err
	}
	if q.file, err = p.StringOr("download_file", ""); err != nil {
		return nil, err
	}
	if q.store, err = operators.ReadOr(p, "store_last_results", asStore, ""); err != nil {
		return nil, err
	}
	if err := q.readStrict(p); err != nil {
		return nil, err
	}
	return q, q.check()
}

func (q *query) readStrict(p *operators.Params) error {
	var err error
	if q.strict, err = p.BoolOr("strict_transaction", true); err != nil {
		return err
	}
	if q.status.name, err = p.StringOr("status_table", "__digdag_status"); err != nil {
		return err
	}
	if q.status.schema, err = p.StringOr("status_table_schema", ""); err != nil {
		return err
	}
	q.keep, err = p.DurationOr("status_table_cleanup", 24*time.Hour)
	return err
}

func (q *query) check() error {
	switch {
	case q.into != nil && q.create != nil:
		return param.Errorf("Can't use both of insert_into and create_table")
	case q.file != "" && (q.into != nil || q.create != nil):
		return param.Errorf("Can't use download_file with insert_into or create_table")
	case q.store != "" && (q.into != nil || q.create != nil):
		return param.Errorf("Can't use store_last_results with insert_into or create_table")
	case q.store != "" && q.file != "":
		return param.Errorf("Can't use both download_file and store_last_results at once")
	}
	return nil
}

// statement is what is executed of a query that writes.
func (q *query) statement() string {
	switch {
	case q.into != nil:
		return "INSERT INTO " + q.into.quoted() + "\n" + q.sql
	case q.create != nil:
		return "DROP TABLE IF EXISTS " + q.create.quoted() + "; CREATE TABLE " + q.create.quoted() + " AS \n" + q.sql
	}
	return q.sql
}

func asStore(key string, v param.Value) (string, error) {
	switch v {
	case false, "false":
		return "", nil
	case true, "true", "first":
		return "first", nil
	case "all":
		return "all", nil
	}
	return "", param.Errorf("%s must be either of \"first\" or \"all\": %s", key, param.Text(v))
}

// table is a name of a table, with that of its schema or "".
type table struct{ schema, name string }

func asTable(key string, v param.Value) (*table, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return nil, err
	}
	if schema, name, two := strings.Cut(text, "."); two {
		return &table{schema, name}, nil
	}
	return &table{"", text}, nil
}

// quoted is the name as SQL has it.
func (t table) quoted() string {
	if t.schema == "" {
		return quoted(t.name)
	}
	return quoted(t.schema) + "." + quoted(t.name)
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
