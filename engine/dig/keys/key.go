package keys

import (
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Where is the set of places in a file in which a key is allowed.
type Where uint8

// The places, which can be combined.
const (
	AtTop   Where = 1 << iota // of the file
	AtGroup                   // a task without an operator
	AtTask                    // a task with an operator
)

// Key is a key that `zerodag: 1` adds to the language. Its literal is the single definition: checks, the schema for
// editors, the documentation of keys, defaults and the preparation of tasks are derived from it.
type Key struct {
	Name  string
	Where Where
	Doc   string // its purpose, in a few words of Markdown
	// Check reports mistakes in a value as far as they are visible in the text; `${...}` is not evaluated.
	Check func(key string, v param.Value, report rule.Report)
	// Schema describes the allowed values.
	Schema func(rule.Meaning) rule.Schema
	// Prepare takes the value, evaluated before the task's turn; nil if it is not evaluated then.
	Prepare func(v param.Value, to *Prepared) error
	// SeesParams means that Prepare runs after the `params` of a called file, whose values its expressions see.
	SeesParams bool
	// Own means that the key applies to one specific task, so it is not allowed in `_defaults`.
	Own bool
}

// Prepared holds the values of a task's keys that are evaluated before its turn.
type Prepared struct {
	Skip    string   // why the task is skipped; "" if it is not
	Pools   []Pool   // pools whose slots it needs
	Timeout *Timeout // its time limits; nil for none
}

// All returns the keys in the order of their documentation and, for keys with a Prepare, of their evaluation. A file
// without `zerodag: 1` has none of them.
func All() []Key {
	return []Key{
		levelOfFileKey(), conditionKey(), failFastKey(), ignoreErrorKey(), finallyKey(), cancelKey(), timeoutKey(), poolKey(),
		priorityKey(), concurrencyKey(), descriptionKeyOfFile(), ownerKeyOfFile(), tagsKeyOfFile(), paramsKey(), outputsKey(), storeKey(),
		repeatKey(), envKey(), envFilesKey(), defaultsKey(),
	}
}

// Added returns the names of keys that zerodag adds in any of the given places.
func Added(at Where) []string {
	var names []string
	for _, k := range All() {
		if k.Where&at != 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find returns the key with a name, and whether zerodag adds it.
func Find(name string) (Key, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// prepared are the names of the keys with a Prepare.
var prepared = sync.OnceValue(func() (names []string) {
	for _, k := range All() {
		if k.Prepare != nil {
			names = append(names, k.Name)
		}
	}
	return names
})

// Prepares reports whether keys of a task must be evaluated before its turn.
func Prepares(config *param.Map) bool { return slices.ContainsFunc(prepared(), config.Has) }

// String names the places, as in "at the top of a file or in a group".
func (w Where) String() string {
	return w.named(" or ", [...]string{"at the top of a file", "in a group", "in a task with an operator"})
}

// Short names the places for a table cell, as in "top, group".
func (w Where) Short() string { return w.named(", ", [...]string{"top", "group", "task"}) }

// named joins the names of the places, which are in the order of the constants.
func (w Where) named(by string, names [3]string) string {
	var list []string
	for i, name := range names {
		if w&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, by)
}
