package dig

import (
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"

	"zerodag/engine/param"
)

// NamedPool is a pool that a task requests by a literal name and that a user must create.
type NamedPool struct {
	Name string
	path []string
	at   Error // where the task requests it; without a message
}

// NamedPools returns the pools that tasks of some workflows request; read has their files. A file without `zerodag: 1`
// requests none.
func NamedPools(read Source, workflows []Workflow) []NamedPool {
	var all []NamedPool
	for _, w := range workflows {
		if language, _ := keys.Gate(w.Config); language.Level == 0 {
			continue
		}
		var found poolSearch
		found.task("+"+w.Name, nil, w.Config)
		if len(found) > 0 { // files without pools are not read again
			found.place(read, w.Name+Suffix)
		}
		all = append(all, found...)
	}
	return all
}

// MissingPools returns an error for each task that requests a missing pool, with the message for that pool; nil if none
// is missing.
func MissingPools(pools []NamedPool, missing []string, message func(pool string) string) error {
	var list Errors
	for _, p := range pools {
		if slices.Contains(missing, p.Name) {
			p.at.Message = message(p.Name)
			list = append(list, p.at)
		}
	}
	err := list.AsError()
	if len(list) > maxReported {
		return list[:maxReported]
	}
	return err
}

// poolSearch collects the pools that tasks name.
type poolSearch []NamedPool

// place finds where each pool is named, in its file or an included one.
func (s poolSearch) place(read Source, file string) {
	p := newProject(read)
	raw := p.workflow(file)
	for i := range s {
		at := p.find(raw, s[i].path)
		s[i].at.File, s[i].at.Line, s[i].at.Column = at.file, at.line, at.column
		if at.file == "" {
			s[i].at.File = file
		}
	}
}

// task visits the task at a path of keys, and all tasks below it.
func (s *poolSearch) task(name string, path []string, v param.Value) {
	switch x := v.(type) {
	case []param.Value:
		for _, e := range x {
			s.task(name, path, e)
		}
	case *param.Map:
		s.ask(name, path, x)
		for key, v := range x.All() {
			at := append(slices.Clone(path), key)
			switch cases, _ := v.(*param.Map); {
			case key == "_cases" && keys.HoldsTasks(x, key):
				for of, body := range cases.All() {
					s.task(name+"^sub", append(slices.Clone(at), of), body)
				}
			case strings.HasPrefix(key, "+"):
				s.task(name+key, at, v)
			case slices.Contains([]string{"_do", "_else_do", "_default"}, key) && keys.HoldsTasks(x, key):
				s.task(name+"^sub", at, v)
			case keys.HoldsTasks(x, key):
				s.task(name+"^"+key[1:], at, v)
			}
		}
	}
}

// ask adds the pools that `_pool` of a task names.
func (s *poolSearch) ask(task string, path []string, config *param.Map) {
	v, there := config.Get("_pool")
	if !there {
		return
	}
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for i, v := range list {
		var p keys.Pool
		keys.ReadPool(v, &p, true, func([]string, string, string) {})
		if m, _ := v.(*param.Map); p.Name == "" || m.Has("limit") || strings.Contains(p.Name, "${") {
			continue
		}
		at := append(slices.Clone(path), "_pool")
		if isList {
			at = append(at, strconv.Itoa(i))
		}
		*s = append(*s, NamedPool{Name: p.Name, path: append(at, "name"), at: Error{Task: task}})
	}
}
