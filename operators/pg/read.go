package pg

import (
	"context"
	"strings"
	"unicode/utf16"

	"github.com/jackc/pgx/v5/pgconn"

	"zerodag/engine/param"
	"zerodag/operators"
)

// read executes a query whose rows are wanted, in a transaction that can change nothing.
func (q *query) read(ctx context.Context, t *operators.Task, at *server) (operators.Result, error) {
	var to receiver
	var err error
	if q.store != "" {
		to, err = newLastResults(t, q.store == "all")
	} else {
		to, err = newDownload(t, q.file)
	}
	if err != nil {
		return operators.Result{}, err
	}
	defer to.close()
	s, err := at.connect(ctx)
	if err != nil {
		return operators.Result{}, err
	}
	defer s.close()
	if err := s.script(ctx, "begin a transaction", "BEGIN READ ONLY"); err != nil {
		return operators.Result{}, err
	}
	described := false
	err = s.query(ctx, "execute given SELECT statement", q.sql, nil, func(fields []pgconn.FieldDescription, row [][]byte) error {
		if row == nil {
			described = true
			return to.columns(fields)
		}
		return to.row(row)
	})
	switch {
	case code(err) == readOnly && q.store != "":
		return operators.Result{}, param.Errorf("Query must be read-only if store_last_results is set")
	case code(err) == readOnly:
		return operators.Result{}, param.Errorf("Query must be read-only if download_file is set")
	case err != nil:
		return operators.Result{}, err
	case !described:
		return operators.Result{}, operators.Failf("Failed to execute given SELECT statement [No results were returned by the query.]")
	}
	return to.result(ctx, s)
}

// receiver is who gets the rows of a query: the columns, then row by row in the server's
// text form, nil for null.
type receiver interface {
	columns(fields []pgconn.FieldDescription) error
	row(values [][]byte) error
	// result is called after the last row, while the session is still there.
	result(ctx context.Context, s *session) (operators.Result, error)
	close()
}

// lastResults stores rows as `pg.last_results`.
type lastResults struct {
	all                             bool
	maxRows, maxColumns, maxLetters int64
	fields                          []column
	rows                            [][]*string
	count                           int64
}

func newLastResults(t *operators.Task, all bool) (*lastResults, error) {
	l := &lastResults{all: all}
	for _, limit := range []struct {
		key       string
		otherwise int64
		into      *int64
	}{{"rows", 8192, &l.maxRows}, {"columns", 64, &l.maxColumns}, {"value_size", 256, &l.maxLetters}} {
		key := "max_store_last_results_" + limit.key
		own := operators.NewParams(t.Config.Map("pg"))
		if !own.Has(key) {
			own = operators.NewParams(t.Config.Map("jdbc"))
		}
		var err error
		if *limit.into, err = own.IntOr(key, limit.otherwise); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *lastResults) close() {}

func (l *lastResults) columns(fields []pgconn.FieldDescription) error {
	if n := int64(len(fields)); n > l.maxColumns {
		return operators.Failf("The number of result columns exceeded the limit: %d > %d", n, l.maxColumns)
	}
	for _, f := range fields {
		l.fields = append(l.fields, column{name: f.Name, oid: f.DataTypeOID})
	}
	return nil
}

func (l *lastResults) row(values [][]byte) error {
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

func (l *lastResults) result(ctx context.Context, s *session) (operators.Result, error) {
	if err := s.nameTypes(ctx, l.fields); err != nil {
		return operators.Result{}, err
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
	return operators.Result{Store: param.New("pg", param.New("last_results", stored))}, nil
}

// object is a row by the names of its columns; of two with one name the later counts.
func (l *lastResults) object(order []int, texts []*string) (*param.Map, error) {
	row := param.New()
	for _, i := range order {
		if texts[i] == nil {
			row.Set(l.fields[i].name, nil)
			continue
		}
		v := l.fields[i].value(*texts[i])
		if text, isText := v.(string); isText {
			if n := int64(letters(text)); n > l.maxLetters {
				return nil, operators.Failf("The size of result value exceeded the limit: %d > %d", n, l.maxLetters)
			}
		}
		row.Set(l.fields[i].name, v)
	}
	return row, nil
}

// letters counts as the original does: in UTF-16 units.
func letters(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// nameTypes finds out about types that are not built into this package.
func (s *session) nameTypes(ctx context.Context, fields []column) error {
	var unknown []string
	for _, f := range fields {
		if _, known := forms[f.oid]; !known {
			unknown = append(unknown, oidText(f.oid))
		}
	}
	if unknown == nil {
		return nil
	}
	return s.query(ctx, "look at the types of the result", "SELECT oid, typname, typcategory FROM pg_catalog.pg_type WHERE oid = ANY($1::oid[])",
		[]string{"{" + strings.Join(unknown, ",") + "}"}, func(_ []pgconn.FieldDescription, row [][]byte) error {
			for i := range fields {
				if row != nil && oidText(fields[i].oid) == string(row[0]) {
					fields[i].kind, fields[i].category = string(row[1]), string(row[2])
				}
			}
			return nil
		})
}
