package tdfake

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"github.com/tinylib/msgp/msgp"

	"zerodag/integration/fake"
)

// Script is the behavior of a query. A query sets it in a comment with JSON, such as `-- td: {"columns": [["a",
// "bigint"]], "rows": [[1], [2]]}`; the last such comment counts. Without one, the result is one row, `_col0` = 1.
// INSERT and CREATE have no result.
type Script struct {
	Columns [][2]string `json:"columns"`
	Rows    [][]any     `json:"rows"`
	// Times repeats the rows, to make a result of any size.
	Times int `json:"times"`
	// Looks is how many times its status is "running" before it ends.
	Looks int `json:"looks"`
	// Fail is the error of a failing job, Out the output of its command.
	Fail string `json:"fail"`
	Out  string `json:"out"`
	// Raw is sent in place of the encoded rows.
	Raw string `json:"raw"`
}

var (
	scriptLine = regexp.MustCompile(`(?m)^-- td: (\{.*\})\s*$`)
	writes     = regexp.MustCompile(`(?m)^(INSERT|CREATE) `)
)

// ReadScript reads the script in a query.
func ReadScript(query string) (Script, error) {
	s := Script{Columns: [][2]string{{"_col0", "bigint"}}, Rows: [][]any{{json.Number("1")}}}
	if found := scriptLine.FindAllStringSubmatch(query, -1); len(found) > 0 {
		d := json.NewDecoder(bytes.NewBufferString(found[len(found)-1][1]))
		d.UseNumber()
		if err := d.Decode(&s); err != nil {
			return s, fmt.Errorf("the script in the query is not JSON: %w", err)
		}
	}
	if writes.MatchString(query) {
		s.Columns, s.Rows, s.Raw = nil, nil, ""
	}
	return s, nil
}

func (s *Script) hasRows() bool { return s.Columns != nil }

func (s *Script) records() int { return len(s.Rows) * max(s.Times, 1) }

// write sends the rows as compressed MessagePack.
func (s *Script) write(w http.ResponseWriter, f fake.Fault) {
	if s.Raw != "" {
		w.Write([]byte(s.Raw))
		return
	}
	var one bytes.Buffer
	m := msgp.NewWriter(&one)
	for _, row := range s.Rows {
		if err := writeValue(m, row); err != nil {
			panic(err) // a buffer never fails
		}
	}
	m.Flush()
	if s.Times > 1 {
		z := gzip.NewWriter(w)
		for range s.Times {
			if _, err := z.Write(one.Bytes()); err != nil {
				return
			}
		}
		z.Close()
		return
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(one.Bytes())
	z.Close()
	f.Send(w, packed.Bytes())
}

func writeValue(m *msgp.Writer, v any) error {
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return m.WriteInt64(n)
		}
		if n, err := strconv.ParseUint(x.String(), 10, 64); err == nil {
			return m.WriteUint64(n)
		}
		n, err := x.Float64()
		if err != nil {
			return err
		}
		return m.WriteFloat64(n)
	case []any:
		if err := m.WriteArrayHeader(uint32(len(x))); err != nil {
			return err
		}
		for _, e := range x {
			if err := writeValue(m, e); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if err := m.WriteMapHeader(uint32(len(x))); err != nil {
			return err
		}
		for k, e := range x {
			if err := m.WriteString(k); err != nil {
				return err
			}
			if err := writeValue(m, e); err != nil {
				return err
			}
		}
		return nil
	}
	return m.WriteIntf(v)
}
