package lint

import (
	"path"
	"strings"

	"zerodag/engine/param"
)

// Limits on comparisons, so that a check takes linear time: larger numbers of keys or words are data, not mistakes.
const (
	mostKeys  = 1000 // of one task that neither the language nor its operator reads
	mostWords = 100  // of a string that are tried as file names
)

// reading holds everything that may read a task's keys, collected once for all of them.
type reading struct {
	config *param.Map
	codes  []keyed  // the expressions of its values
	texts  string   // its text values, one after the other
	files  []string // contents of the files that they name
}

type keyed struct{ key, text string }

// readingOf collects everything that may read a task's keys.
func (c *critic) readingOf(config *param.Map) *reading {
	if c.reading.config == config {
		return &c.reading
	}
	r := reading{config: config}
	folder, _ := c.workdir(config)
	var texts strings.Builder
	tried := map[string]bool{}
	for key, v := range config.All() {
		if !strings.HasPrefix(key, "+") {
			r.codes = addCodes(r.codes, key, v)
		}
		text, isText := v.(string)
		if !isText {
			continue
		}
		texts.WriteString(text)
		texts.WriteByte(0)
		words := 0
		for word := range strings.FieldsSeq(text) {
			if words++; words > mostWords {
				break
			}
			name := path.Join(folder, strings.Trim(word, `"'`))
			if tried[name] {
				continue
			}
			tried[name] = true
			if content, err := c.read(name); err == nil {
				r.files = append(r.files, string(content))
			}
		}
	}
	r.texts = texts.String()
	c.reading = r
	return &c.reading
}

// addCodes appends the expressions in a value, at any depth.
func addCodes(list []keyed, key string, v param.Value) []keyed {
	switch x := v.(type) {
	case string:
		if _, code, found := strings.Cut(x, "${"); found {
			list = append(list, keyed{key, code})
		}
	case []param.Value:
		for _, e := range x {
			list = addCodes(list, key, e)
		}
	case *param.Map:
		for _, e := range x.All() {
			list = addCodes(list, key, e)
		}
	}
	return list
}

// used reports whether an expression of the task names one of its other keys, so that the key is one of its author's
// variables.
func (r *reading) used(key string) bool {
	for _, code := range r.codes {
		if code.key != key && strings.Contains(code.text, key) {
			return true
		}
	}
	return false
}

// asks reports whether a string contains $NAME or ${NAME}: a command gets each key of its task as a variable.
func (r *reading) asks(name string) bool {
	return strings.Contains(r.texts, "$"+name) || strings.Contains(r.texts, "{"+name)
}

// reads reports whether something may read a key of a task: an expression of the file, its command, or a file that it
// names.
func (c *critic) reads(key string, config *param.Map) bool {
	if _, known := c.workdir(config); c.named()[key] || !known {
		return true
	}
	r := c.readingOf(config)
	if r.asks(key) {
		return true
	}
	for _, text := range r.files {
		for _, form := range []string{"$" + key, "{" + key, "'" + key + "'", `"` + key + `"`, "." + key} {
			if strings.Contains(text, form) {
				return true
			}
		}
	}
	return false
}
