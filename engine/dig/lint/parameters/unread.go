package parameters

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// UnreadIn warns about a run's parameters that nothing in the project can read: their names occur in none of its files.
// It returns none if a file is too large to be read, or if there are too many files.
func UnreadIn(read dig.Source, folder func(string) ([]string, bool), names []string) (found dig.Errors) {
	if len(names) == 0 {
		return nil
	}
	files := FilesBelow(folder, ".")
	if len(files) >= mostFiles {
		return nil
	}
	words, asked := map[string]bool{}, []string{}
	others := map[string]bool{} // words of files that are not workflows
	sources := map[string]*param.Map{}
	for _, file := range files {
		text, readable := small(read, file)
		if !readable {
			return nil
		}
		AddWords(words, text)
		if !strings.HasSuffix(file, dig.Suffix) {
			AddWords(others, text)
			continue
		}
		raw, err := dig.LoadFile(read, file)
		if err != nil {
			AddWords(others, text)
			continue
		}
		sources[file] = raw
		asked = append(asked, keys.NamesIn(raw)...)
		asked = append(asked, thisNames(raw)...)
	}
	for _, name := range names {
		if !words[name] {
			found = append(found, unread(name, asked))
		} else if !others[name] {
			found = append(found, beaten(name, sources)...)
		}
	}
	return found
}

// beaten warns about a parameter that is read only by tasks that set it themselves.
func beaten(name string, sources map[string]*param.Map) dig.Errors {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	var task, of string
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		setter, read := ownKey(name, "+"+dig.WorkflowName(file), sources[file], word)
		if read {
			return nil
		}
		if task == "" && setter != "" {
			task, of = setter, file
		}
	}
	if task == "" {
		return nil
	}
	return dig.Errors{{File: of, Task: task, Message: fmt.Sprintf("the given parameter %s has no effect here: the task overrides it", name), Hint: "remove it from the task"}}
}

// ownKey finds the first task below a task that sets a parameter itself, and reports whether anything may read the
// parameter from elsewhere.
func ownKey(name, task string, config *param.Map, word *regexp.Regexp) (setter string, read bool) {
	own := config.Has(name) && keys.ShapeOf(config).Operators > 0
	if own {
		setter = task
	}
	for key, v := range config.All() {
		below, isMap := v.(*param.Map)
		text := param.Text(v)
		switch {
		case isMap && strings.HasPrefix(key, "+"), isMap && slices.Contains(keys.TaskBodies, key):
			suffix := key
			if name, is := strings.CutPrefix(key, "_"); is {
				suffix = "^" + name
			}
			if strings.HasSuffix(key, "_do") {
				suffix = "^sub"
			}
			found, elsewhere := ownKey(name, task+suffix, below, word)
			read = read || elsewhere
			setter = cmp.Or(setter, found)
		case own && !strings.Contains(text, "${") && !isMap: // a command sees the task's own value under the name
		case word.MatchString(key), word.MatchString(text):
			read = true
		}
	}
	return setter, read
}

// small reads a file, unless it is too large.
func small(read dig.Source, file string) ([]byte, bool) {
	text, err := read(file)
	return text, err == nil && len(text) <= 1<<20
}

// aWord matches anything that can be a name.
var aWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\pL_][\pL\pN_]*`) })

// AddWords adds all words of a string that can be names of parameters.
func AddWords(words map[string]bool, text []byte) {
	for _, word := range aWord().FindAll(text, -1) {
		words[string(word)] = true
	}
}

// Unread warns about parameters of a start that a workflow cannot read: it uses no commands and none of its project's
// files or operators, and none of its expressions contains the name.
func Unread(config, given *param.Map) (found dig.Errors) {
	if given.Len() == 0 || !readsOnlyExpressions(config) {
		return nil
	}
	asked, text := append(keys.NamesIn(config), thisNames(config)...), param.Text(config)
	for _, name := range given.Keys() {
		if !strings.HasPrefix(name, "_") && !strings.Contains(text, name) {
			found = append(found, unread(name, asked))
		}
	}
	return found
}

func unread(name string, asked []string) dig.Error {
	e := dig.Error{Message: fmt.Sprintf("unused parameter '%s'", name)}
	if near := param.Nearest(name, asked); near != "" {
		e.Message += ": did you mean " + near + "?"
	}
	return e
}

// thisNames returns the names after `this.` in expressions.
func thisNames(v param.Value) (names []string) {
	for _, piece := range strings.Split(param.Text(v), "this.")[1:] {
		names = append(names, nameAtStart().FindString(piece))
	}
	return names
}

var nameAtStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][\w$]*`) })

// pureOperators read nothing but their own keys.
var pureOperators = []string{"echo", "fail", "if", "switch", "loop", "for_each", "for_range", "wait"}

// readsOnlyExpressions reports whether all of a workflow's tasks run operators that read nothing but their keys.
func readsOnlyExpressions(v param.Value) bool {
	switch x := v.(type) {
	case *param.Map:
		for key, e := range x.All() {
			if key == "schedule" || key == "sla" {
				continue
			}
			name, isOperator := strings.CutSuffix(key, ">")
			if key == "_type" || isOperator && !slices.Contains(pureOperators, name) || !readsOnlyExpressions(e) {
				return false
			}
		}
	case []param.Value:
		return !slices.ContainsFunc(x, func(e param.Value) bool { return !readsOnlyExpressions(e) })
	}
	return true
}
