package dig

import (
	"errors"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// SettingsFile is the project file with settings for all of its workflow files with `zerodag: 1`. A project without
// such files may use the name for something else, because the file is not read there.
const SettingsFile = "zerodag.yml"

// baseKey is the key of SettingsFile that holds the top-level keys that each file inherits.
const baseKey = "base"

const settingsForm = "write `zerodag: 1` and, below `base:`, top-level keys of workflow files"

// BaseKeys returns the keys that `base:` may have. `schedule` is not among them: called files have no schedule.
func BaseKeys() []string {
	return slices.DeleteFunc(append(TopKeys(), keys.Added(keys.AtTop)...), func(key string) bool { return key == keys.LevelKey || key == "schedule" })
}

// workflow reads a workflow file, as file does. A file with `zerodag: 1` gets the keys of `base:` that it lacks.
func (p *project) workflow(name string) *param.Map {
	raw := p.file(name)
	if raw == nil || p.lost || !raw.Has(keys.LevelKey) {
		return raw
	}
	base := p.base()
	if base.Len() == 0 {
		return raw
	}
	for _, key := range append([]string{"_error", "_check"}, keys.Closing()...) {
		if raw.Has(key) { // one handler replaces the other
			base = p.without(base, key)
		}
	}
	return p.overlay(base, raw)
}

// base reads the project's settings and returns the keys for its files with `zerodag: 1`. It returns nil if there are
// none, or after an error, which was reported.
func (p *project) base() *param.Map {
	text, err := p.read(SettingsFile)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	own := &project{read: p.read, places: p.places, budget: p.budget, seen: p.seen, doubts: p.doubts}
	defer func() { p.errs = append(p.errs, own.errs...) }()
	var raw *param.Map
	if err != nil {
		own.errs = append(own.errs, Error{File: SettingsFile, Message: "read the project settings: " + err.Error()})
	} else {
		raw = own.mapping(SettingsFile, text)
	}
	if raw == nil || own.lost || len(own.errs) > 0 {
		return nil
	}
	base, problems := readSettings(raw)
	if own.errs = own.located(SettingsFile, raw, problems); len(own.errs) > 0 {
		return nil
	}
	return base
}

// readSettings validates a project's settings.
func readSettings(raw *param.Map) (base *param.Map, problems []Problem) {
	fail := func(hint, message string, path ...string) {
		problems = append(problems, Problem{Path: path, Error: Error{Message: message, Hint: hint}})
	}
	if _, fault, hint := keys.LevelOf(raw); fault != "" {
		fail(hint, fault, keys.LevelKey)
	} else if !raw.Has(keys.LevelKey) {
		fail(settingsForm, SettingsFile+" does not set the language level", raw.Keys()[:min(1, raw.Len())]...)
	}
	for _, key := range raw.Keys() {
		if key != keys.LevelKey && key != baseKey {
			fail(settingsForm, "unknown key '"+key+"'", key)
		}
	}
	v, there := raw.Get(baseKey)
	base, ok := v.(*param.Map)
	if !ok {
		if there {
			fail(settingsForm, "'"+baseKey+"' must be an object", baseKey)
		}
		return nil, problems
	}
	for _, key := range base.Keys() {
		if slices.Contains(BaseKeys(), key) {
			continue
		}
		hint := "valid keys are " + strings.Join(BaseKeys(), ", ")
		if s := param.DidYouMean(key, BaseKeys()); s != "" {
			hint = s
		}
		fail(hint, "'"+key+"' cannot be shared by all files", baseKey, key)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	whole := base.Clone()
	whole.Set(keys.LevelKey, int64(keys.Latest))
	for _, one := range define(nil, "base", "", whole, nil).problems {
		one.Path, one.Task = append([]string{baseKey}, one.Path...), ""
		problems = append(problems, one)
	}
	return base, problems
}

// without returns a mapping without a key; the other keys keep their places.
func (p *project) without(m *param.Map, key string) *param.Map {
	i := slices.Index(m.Keys(), key)
	if i < 0 {
		return m
	}
	out := m.Without(key)
	if at := p.places[m]; i < len(at) {
		p.places[out] = slices.Delete(slices.Clone(at), i, i+1)
	}
	return out
}
