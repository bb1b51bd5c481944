package keys

import (
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Where says at which places of a file a key may stand; places are added up.
type Where uint8

// The places.
const (
	AtTop   Where = 1 << iota // of the file
	AtGroup                   // a task without an operator
	AtTask                    // a task with an operator
)

// Key is a key that `zerodag: 1` adds to the language. Its literal is all that there is to say of it: checks, the schema for
// editors, the page of the keys, defaults and the preparation of a task are made of these.
type Key struct {
	Name  string
	Where Where
	Doc   string // what it is for, in a few words of Markdown
	// Check reports what is wrong with a value as far as the text tells; `${...}` is not evaluated.
	Check func(key string, v param.Value, report rule.Report)
	// Schema is what a value may be.
	Schema func(rule.Meaning) rule.Schema
	// Prepare takes the value as it was evaluated before the task's turn; nil: it is not evaluated then.
	Prepare func(v param.Value, to *Prepared) error
	// SeesParams says that Prepare comes after the `params` of a called file, and its expressions see what these give.
	SeesParams bool
	// Own says that it is about the one task, so that `_defaults` cannot have it.
	Own bool
}

// Prepared is what the keys of a task that are evaluated before its turn come to.
type Prepared struct {
	Skip    string   // why the task is not run; "" when it is
	Pools   []Pool   // whose slots it needs
	Timeout *Timeout // how long it may take; nil: any time
}

// All returns the keys in the order of the page about them and, of the keys with a Prepare, in the order of their evaluation.
// A file without `zerodag: 1` has none of them.
func All() []Key {
	return []Key{
		levelOfFileKey(), conditionKey(), failFastKey(), ignoreErrorKey(), finallyKey(), cancelKey(), timeoutKey(), poolKey(),
		priorityKey(), concurrencyKey(), descriptionKeyOfFile(), ownerKeyOfFile(), tagsKeyOfFile(), paramsKey(), outputsKey(), storeKey(),
		repeatKey(), envKey(), envFilesKey(), defaultsKey(),
	}
}

// Added returns the names of the keys that zerodag adds at any of some places.
func Added(at Where) []string {
	var names []string
	for _, k := range All() {
		if k.Where&at != 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// Find returns the key of a name, and whether zerodag adds one.
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

// Prepares reports whether keys of a task have to be evaluated before its turn.
func Prepares(config *param.Map) bool { return slices.ContainsFunc(prepared(), config.Has) }

// String names the places, as in "at the top of a file or in a group".
func (w Where) String() string {
	return w.named(" or ", [...]string{"at the top of a file", "in a group", "in a task with an operator"})
}

// Short names the places for a cell of a table, as in "top, group".
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
