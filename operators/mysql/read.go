package mysql

import (
	"context"
	databases "database/sql"
	"encoding/hex"
	"strconv"
	"strings"

	"zerodag/operators"
	"zerodag/operators/sql"
)

// read executes a query whose rows are needed, in a transaction that cannot change anything.
func read(ctx context.Context, t *operators.Task, at *sql.Server, q *sql.Query) (operators.Result, error) {
	to, err := q.Rows(t, "mysql")
	if err != nil {
		return operators.Result{}, err
	}
	defer to.Close()
	s, err := connect(ctx, at, false)
	if err != nil {
		return operators.Result{}, err
	}
	defer s.close()
	if _, err := s.lock(ctx); err != nil { // so that clean finds it; two may read
		return operators.Result{}, err
	}
	// Set for the session, not only for one transaction: a statement that defines something ends the transaction, and
	// would be executed after it.
	for _, text := range []string{"SET SESSION TRANSACTION READ ONLY", "START TRANSACTION"} {
		if err := s.exec(ctx, "begin a transaction", text); err != nil {
			return operators.Result{}, err
		}
	}
	if err := s.rows(ctx, q.SQL, to); err != nil {
		if number(err) == readOnly {
			return operators.Result{}, q.WouldWrite()
		}
		return operators.Result{}, err
	}
	return to.Result(nil)
}

// rows passes on the rows of a statement.
func (s *session) rows(ctx context.Context, text string, to sql.Rows) error {
	const what = "execute given SELECT statement"
	rows, err := s.conn.QueryContext(ctx, text)
	if err != nil {
		return s.failure(ctx, what, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err reports it
	types, err := rows.ColumnTypes()
	if err != nil {
		return s.failure(ctx, what, err)
	}
	if len(types) == 0 {
		return sql.NoResults()
	}
	columns, forms := make([]sql.Column, len(types)), make([]form, len(types))
	values, raw, into := make([][]byte, len(types)), make([]databases.RawBytes, len(types)), make([]any, len(types))
	for i, one := range types {
		forms[i] = formOf(one.DatabaseTypeName())
		columns[i], into[i] = sql.Column{Name: one.Name(), OID: forms[i].oid}, &raw[i]
	}
	if err := to.Columns(columns); err != nil {
		return err
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return s.failure(ctx, what, err)
		}
		for i, v := range raw {
			if values[i] = v; v != nil && forms[i].text != nil {
				values[i] = forms[i].text(v)
			}
		}
		if err := to.Row(values); err != nil {
			return err
		}
	}
	return s.failure(ctx, what, rows.Err())
}

// form describes how values of a type are passed on: the number of the PostgreSQL type that they get, and a conversion
// to that type's text form if it differs.
type form struct {
	oid  uint32
	text func([]byte) []byte
}

// The PostgreSQL types in which values are passed on.
const (
	asNumber    = 1700
	asFloat     = 701
	asBytes     = 17
	asText      = 25
	asDate      = 1082
	asTimestamp = 1114
)

func formOf(kind string) form {
	switch kind = strings.TrimPrefix(kind, "UNSIGNED "); kind {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR", "DECIMAL":
		return form{asNumber, nil}
	case "FLOAT", "DOUBLE":
		return form{asFloat, nil}
	case "DATE":
		return form{asDate, nil}
	case "DATETIME", "TIMESTAMP":
		return form{asTimestamp, nil}
	case "BIT":
		return form{asNumber, func(v []byte) []byte {
			var n uint64
			for _, b := range v {
				n = n<<8 | uint64(b)
			}
			return strconv.AppendUint(nil, n, 10)
		}}
	case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "GEOMETRY", "VECTOR":
		return form{asBytes, func(v []byte) []byte { return hex.AppendEncode([]byte(`\x`), v) }}
	}
	return form{asText, nil}
}
