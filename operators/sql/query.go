package sql

import (
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Query is a task's query to a database.
type Query struct {
	SQL          string
	create, into *Table // destination of the SQL's rows; at most one
	Wanted

	Strict bool          // exactly once
	Status Table         // of completed queries
	Keep   time.Duration // how long the table remembers them
}

// Wanted describes how to handle a query's rows.
type Wanted struct {
	file  string // CSV of the rows; "" for none
	store string // which rows are stored: "", first, all
}

// ReadOnly reports whether the rows are the purpose of the query.
func (w Wanted) ReadOnly() bool { return w.file != "" || w.store != "" }

// First reports whether one row is enough.
func (w Wanted) First() bool { return w.store == "first" }

// ReadWanted reads `download_file` and `store_last_results`.
func ReadWanted(p *operators.Params) (w Wanted, err error) {
	if w.file, err = p.StringOr("download_file", ""); err != nil {
		return w, err
	}
	w.store, err = operators.ReadOr(p, "store_last_results", asStore, "")
	return w, err
}

// Check refuses contradictions.
func (w Wanted) Check() error {
	if w.store != "" && w.file != "" {
		return param.Errorf("Can't use both download_file and store_last_results at once")
	}
	return nil
}

// ReadQuery reads a task's query from its parameters.
func ReadQuery(t *operators.Task, p *operators.Params) (*Query, error) {
	q := &Query{}
	var err error
	if q.SQL, err = t.CommandText(p, "query"); err != nil {
		return nil, err
	}
	if q.into, err = operators.ReadOr(p, "insert_into", AsTable, nil); err != nil {
		return nil, err
	}
	if q.create, err = operators.ReadOr(p, "create_table", AsTable, nil); err != nil {
		return nil, err
	}
	if q.Wanted, err = ReadWanted(p); err != nil {
		return nil, err
	}
	if err := q.readStrict(p); err != nil {
		return nil, err
	}
	return q, q.check()
}

// ReadStrict reads the settings for exactly-once execution, for operators whose statement is not a parameter.
func ReadStrict(p *operators.Params) (*Query, error) {
	q := &Query{}
	return q, q.readStrict(p)
}

func (q *Query) readStrict(p *operators.Params) error {
	var err error
	if q.Strict, err = p.BoolOr("strict_transaction", true); err != nil {
		return err
	}
	if q.Status.Name, err = p.StringOr("status_table", "__digdag_status"); err != nil {
		return err
	}
	if q.Status.Schema, err = p.StringOr("status_table_schema", ""); err != nil {
		return err
	}
	q.Keep, err = p.DurationOr("status_table_cleanup", 24*time.Hour)
	return err
}

func (q *Query) check() error {
	switch {
	case q.into != nil && q.create != nil:
		return param.Errorf("Can't use both insert_into and create_table")
	case q.file != "" && (q.into != nil || q.create != nil):
		return param.Errorf("Can't use download_file with insert_into or create_table")
	case q.store != "" && (q.into != nil || q.create != nil):
		return param.Errorf("Can't use store_last_results with insert_into or create_table")
	}
	return q.Wanted.Check()
}

// Statement returns the SQL that is executed for a query that writes.
func (q *Query) Statement() string { return q.StatementBy(Quoted) }

// StatementBy is Statement for a database with different quoting.
func (q *Query) StatementBy(quote func(name string) string) string {
	switch {
	case q.into != nil:
		return "INSERT INTO " + q.into.QuotedBy(quote) + "\n" + q.SQL
	case q.create != nil:
		table := q.create.QuotedBy(quote)
		return "DROP TABLE IF EXISTS " + table + "; CREATE TABLE " + table + " AS \n" + q.SQL
	}
	return q.SQL
}

// What describes the statement in words.
func (q *Query) What() string {
	if q.into == nil && q.create == nil {
		return "execute given SQL script"
	}
	return "execute an update statement"
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

// Table is a table's name with the name of its schema, or with "".
type Table struct{ Schema, Name string }

// AsTable reads "[schema.]table".
func AsTable(key string, v param.Value) (*Table, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return nil, err
	}
	if schema, name, two := strings.Cut(text, "."); two {
		return &Table{schema, name}, nil
	}
	return &Table{"", text}, nil
}

// Quoted returns the name quoted for SQL.
func (t Table) Quoted() string { return t.QuotedBy(Quoted) }

// QuotedBy is Quoted for a database with different quoting.
func (t Table) QuotedBy(quote func(name string) string) string {
	if t.Schema == "" {
		return quote(t.Name)
	}
	return quote(t.Schema) + "." + quote(t.Name)
}

// Quoted returns an identifier quoted for SQL.
func Quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
