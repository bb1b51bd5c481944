package keys

import (
	"fmt"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// Latest is the highest language level that this version supports.
const Latest = 1

// LevelKey is the key at the top of a file for its language level.
const LevelKey = "zerodag"

// Language is the language in which a mapping of tasks is written.
type Language struct {
	// Level is 0 for Digdag's own language, and more if the file opts in to the keys that zerodag adds (see Added). Digdag
	// treats any key of a task as a parameter, so a new key must not have a meaning in an existing file.
	Level int
	// Whole means that the mapping is a whole file, which may have keys that are only allowed at the top of one.
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

// Gate removes the level from a file in its stored form (Workflow.Config, Callee) and returns the rest, which Compile
// expects.
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

// Body removes the level from tasks that an operator has generated. Subtasks have the language of the task that
// generated them, but a file that call> read has its own level, and so may the text that http_call> received.
func Body(of Language, operator string, body *param.Map) (Language, *param.Map) {
	switch {
	case operator == "call", operator == "http_call" && body.Has(LevelKey):
		return Gate(body)
	}
	return Language{Level: of.Level}, body
}

// LevelOf reads the level at the top of a file; fault is "" if it is valid. A file with a fault is read as if it had
// the latest level, so that its other keys do not cause false errors.
func LevelOf(raw *param.Map) (level int, fault, hint string) {
	v, there := raw.Get(LevelKey)
	if !there {
		return 0, "", ""
	}
	n, ok := v.(int64)
	switch {
	case !ok || n < 1:
		return Latest, fmt.Sprintf("'%s' must be the language level, a number such as %d: %s", LevelKey, Latest, param.Sample(v)), fmt.Sprintf("write `%s: %d`", LevelKey, Latest)
	case n > Latest:
		return Latest, fmt.Sprintf("This file needs zerodag language level %d, but this version supports %d", n, Latest), "use a newer version of zerodag"
	}
	return int(n), "", ""
}

// Ungated returns how to enable a key that zerodag adds, "" for any other key.
func Ungated(key string) string {
	if _, isAdded := Find(key); isAdded && key != LevelKey {
		return GateHint(key)
	}
	return ""
}

// GateHint returns the hint for a key that only files with `zerodag: 1` may have.
func GateHint(key string) string {
	return fmt.Sprintf("'%s' is a zerodag key: put `%s: %d` at the top of the file", key, LevelKey, Latest)
}
