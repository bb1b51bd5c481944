package sql

import (
	"context"
	"errors"
	"strings"
	"unicode/utf16"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/engine/param"
	"zerodag/operators"
)

// Read executes a query whose rows are needed, in a transaction that cannot change anything.
func (q *Query) Read(ctx context.Context, t *operators.Task, at *Server) (operators.Result, error) {
	to, err := q.Rows(t, at.kind.Name)
	if err != nil {
		return operators.Result{}, err
	}
	defer to.Close()
	s, err := at.Connect(ctx)
	if err != nil {
		return operators.Result{}, err
	}
	defer s.Close()
	if err := s.Script(ctx, "begin a transaction", "BEGIN READ ONLY"); err != nil {
		return operators.Result{}, err
	}
	described := false
	err = s.Query(ctx, "execute given SELECT statement", q.SQL, nil, func(fields []pgconn.FieldDescription, row [][]byte) error {
		if row == nil {
			described = true
			return to.Columns(asColumns(fields))
		}
		return to.Row(row)
	})
	switch {
	case Code(err) == ReadOnly:
		return operators.Result{}, q.WouldWrite()
	case err != nil:
		return operators.Result{}, err
	case !described:
		return operators.Result{}, NoResults()
	}
	return to.Result(s.typeNames(ctx))
}

// NoResults returns the failure of a statement without rows when rows are needed.
func NoResults() error {
	err := errors.New("No results were returned by the query.")
	return operators.Causedf(err, "Failed to execute given SELECT statement [%v]", err)
}

// WouldWrite returns the failure of a read-only query that would write.
func (w Wanted) WouldWrite() error {
	if w.store != "" {
		return param.Errorf("Query must be read-only if store_last_results is set")
	}
	return param.Errorf("Query must be read-only if download_file is set")
}

// Rows returns the receiver for the rows of a query that is ReadOnly; results are stored under key.
func (w Wanted) Rows(t *operators.Task, key string) (Rows, error) {
	if w.store != "" {
		return newLastResults(t, key, w.store == "all")
	}
	return newDownload(t, w.file)
}

func asColumns(fields []pgconn.FieldDescription) []Column {
	columns := make([]Column, len(fields))
	for i, f := range fields {
		columns[i] = Column{Name: f.Name, OID: f.DataTypeOID, Modifier: f.TypeModifier}
	}
	return columns
}

// typeNames returns a function that looks up types while the session exists.
func (s *Session) typeNames(ctx context.Context) func([]Column) error {
	if s.at.kind.Redshift {
		return nil
	}
	return func(fields []Column) error { return s.nameTypes(ctx, fields) }
}

// Rows receives a query's rows: the columns, then row by row in the server's text form, nil for null.
type Rows interface {
	Columns(fields []Column) error
	Row(values [][]byte) error
	// Result is called after the last row. name looks up types that are not built into this package; nil for a database
	// without that.
	Result(name func(fields []Column) error) (operators.Result, error)
	// Close may be called at any time; unless Result was called before, nothing is kept.
	Close()
}

// lastResults stores rows, for example as `pg.last_results`.
type lastResults struct {
	key                             string // "pg"
	all                             bool
	maxRows, maxColumns, maxLetters int64
	fields                          []Column
	rows                            [][]*string
	count                           int64
}

func newLastResults(t *operators.Task, key string, all bool) (*lastResults, error) {
	l := &lastResults{key: key, all: all}
	for _, limit := range []struct {
		key       string
		otherwise int64
		into      *int64
	}{{"rows", 8192, &l.maxRows}, {"columns", 64, &l.maxColumns}, {"value_size", 256, &l.maxLetters}} {
		name := "max_store_last_results_" + limit.key
		own := operators.NewParams(t.Config.Map(key))
		if !own.Has(name) {
			own = operators.NewParams(t.Config.Map("jdbc"))
		}
		var err error
		if *limit.into, err = own.IntOr(name, limit.otherwise); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *lastResults) Close() {}

func (l *lastResults) Columns(fields []Column) error {
	if n := int64(len(fields)); n > l.maxColumns {
		return operators.Failf("The number of result columns exceeded the limit: %d > %d", n, l.maxColumns)
	}
	l.fields = fields
	return nil
}

func (l *lastResults) Row(values [][]byte) error {
	l.count++
	if !l.all && l.count > 1 {
		return nil
	}
	if l.count > l.maxRows {
		return operators.Failf("The number of result rows exceeded the limit: %d > %d", l.count, l.maxRows)
	}
	row := make([]*string, len(values))
	for i, v := range values {
		if v != nil {
			text := string(v)
			row[i] = &text
		}
	}
	l.rows = append(l.rows, row)
	return nil
}

func (l *lastResults) Result(name func([]Column) error) (operators.Result, error) {
	if name != nil {
		if err := name(l.fields); err != nil {
			return operators.Result{}, err
		}
	}
	order := mapOrder(l.fields)
	rows := make([]param.Value, len(l.rows))
	for i, texts := range l.rows {
		row, err := l.object(order, texts)
		if err != nil {
			return operators.Result{}, err
		}
		rows[i] = row
	}
	var stored param.Value = rows
	if !l.all {
		stored = param.New()
		if len(rows) > 0 {
			stored = rows[0]
		}
	}
	return operators.Result{Store: param.New(l.key, param.New("last_results", stored))}, nil
}

// object returns a row by the names of its columns; the later of two with the same name counts.
func (l *lastResults) object(order []int, texts []*string) (*param.Map, error) {
	row := param.New()
	for _, i := range order {
		if texts[i] == nil {
			row.Set(l.fields[i].Name, nil)
			continue
		}
		v := l.fields[i].value(*texts[i])
		if text, isText := v.(string); isText {
			if n := int64(letters(text)); n > l.maxLetters {
				return nil, operators.Failf("The size of result value exceeded the limit: %d > %d", n, l.maxLetters)
			}
		}
		row.Set(l.fields[i].Name, v)
	}
	return row, nil
}

// letters counts like Digdag: in UTF-16 units.
func letters(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// nameTypes looks up types that are not built into this package.
func (s *Session) nameTypes(ctx context.Context, fields []Column) error {
	var unknown []string
	for _, f := range fields {
		if _, known := forms[f.OID]; !known {
			unknown = append(unknown, oidText(f.OID))
		}
	}
	if unknown == nil {
		return nil
	}
	return s.Query(ctx, "look up the types of the result", "SELECT oid, typname, typcategory FROM pg_catalog.pg_type WHERE oid = ANY($1::oid[])",
		[]string{"{" + strings.Join(unknown, ",") + "}"}, func(_ []pgconn.FieldDescription, row [][]byte) error {
			for i := range fields {
				if row != nil && oidText(fields[i].OID) == string(row[0]) {
					fields[i].Kind, fields[i].Category = string(row[1]), string(row[2])
				}
			}
			return nil
		})
}
