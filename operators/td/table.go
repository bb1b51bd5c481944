package td

import (
	"strings"

	"zerodag/engine/param"
)

// table is a table's name, optionally with its database's name and a dot before it.
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

// in returns the table's database, or else the task's.
func (t table) in(database string) string {
	if t.database == "" {
		return database
	}
	return t.database
}

// quoted returns the name for a query; quote is the engine's quote character.
func (t table) quoted(quote string) string {
	if t.database == "" {
		return quote + t.name + quote
	}
	return quote + t.database + quote + "." + quote + t.name + quote
}
