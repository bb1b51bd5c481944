package keys

import (
	"fmt"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Latest is the highest level of the language that this version knows.
const Latest = 1

// LevelKey is the key at the top of a file that says its level.
const LevelKey = "zerodag"

// Language is what a mapping of tasks is written in.
type Language struct {
	// Level is 0 for Digdag's own language, and more where the file asks for the keys that zerodag adds (see
	// AddedKeys): Digdag takes any key of a task for a parameter, so that nothing new may mean anything in an
	// old file.
	Level int
	// Whole says that the mapping is a whole file, which may have keys that only the top of one has.
	Whole bool
}

func levelOfFileKey() Key {
	return Key{
		Name: LevelKey, Where: AtTop,
		Doc:   "the language level of the file: 1",
		Check: func(string, param.Value, rule.Report) {},
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"const": Latest}
		},
	}
}

// Gate takes the level out of a file as it is stored (Workflow.Config, Callee): what is left is what Compile wants.
func Gate(config *param.Map) (Language, *param.Map) {
	l := Language{Whole: true}
	v, there := config.Get(LevelKey)
	if !there {
		return l, config
	}
	if n, ok := v.(int64); ok && 0 < n && n <= Latest {
		l.Level = int(n)
	}
	return l, config.Without(LevelKey)
}

// Body takes the level out of what an operator has made: subtasks are written in the language of the task that made
// them, but a file that call> read says its own, and a text that http_call> received may.
func Body(of Language, operator string, body *param.Map) (Language, *param.Map) {
	switch {
	case operator == "call", operator == "http_call" && body.Has(LevelKey):
		return Gate(body)
	}
	return Language{Level: of.Level}, body
}

// LevelOf reads the level at the top of a file; "" is no fault. A file with a fault is read as if it had the latest one,
// so that its other keys give no faults that are none.
func LevelOf(raw *param.Map) (level int, fault, hint string) {
	v, there := raw.Get(LevelKey)
	if !there {
		return 0, "", ""
	}
	n, ok := v.(int64)
	switch {
	case !ok || n < 1:
		return Latest, fmt.Sprintf("'%s' must be the level of the language, a number such as %d: %s", LevelKey, Latest, param.Sample(v)), fmt.Sprintf("write `%s: %d`", LevelKey, Latest)
	case n > Latest:
		return Latest, fmt.Sprintf("This file needs zerodag language level %d, and this version knows %d", n, Latest), "use a newer version of zerodag"
	}
	return int(n), "", ""
}

// Ungated says how a key is put to use that zerodag adds, "" for any other one.
func Ungated(key string) string {
	if _, isAdded := Find(key); isAdded && key != LevelKey {
		return GateHint(key)
	}
	return ""
}

// GateHint is the remedy for a key that only files with `zerodag: 1` may have.
func GateHint(key string) string {
	return fmt.Sprintf("'%s' is a zerodag key: put `%s: %d` at the top of the file", key, LevelKey, Latest)
}
