package td

import (
	"strings"

	"zerodag/engine/param"
)

// table is the name of one, maybe with that of its database before a point.
type table struct{ database, name string }

func asTable(key string, v param.Value) (*table, error) {
	text, err := param.AsString(key, v)
	if err != nil {
		return nil, err
	}
	if database, name, found := strings.Cut(text, "."); found {
		return &table{database, name}, nil
	}
	return &table{name: text}, nil
}

func (t table) String() string {
	if t.database == "" {
		return t.name
	}
	return t.database + "." + t.name
}

// in is the table's database, or else the one of the task.
func (t table) in(database string) string {
	if t.database == "" {
		return database
	}
	return t.database
}

// quoted is the name as a query has it; quote is that of the engine.
func (t table) quoted(quote string) string {
	if t.database == "" {
		return quote + t.name + quote
	}
	return quote + t.database + quote + "." + quote + t.name + quote
}
