package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"zerodag/engine/dig"
	"zerodag/engine/dig/lint"
	"zerodag/operators"
	"zerodag/operators/all"
)

// TestSchemaAccepts proves that an editor finds no fault with valid workflows about which the checks report nothing:
// those of the examples, the pages and the recorded cases.
func TestSchemaAccepts(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	looked := 0
	for name, text := range workflows(t) {
		folder := filepath.Dir(filepath.Join(root, name))
		read := func(file string) ([]byte, error) {
			if file == path.Base(name) {
				return []byte(text), nil
			}
			return os.ReadFile(filepath.Join(folder, file))
		}
		files := []string{path.Base(name)}
		if _, err := dig.Load(read, files); err != nil {
			continue
		}
		known := lint.Known{Operators: all.Registry().Names(), Parameters: operators.ParametersOf}
		if len(lint.Warnings(read, files, known)) > 0 {
			continue
		}
		value, err := plainYAML(text)
		if err != nil {
			continue // an error of this YAML reader, which is not the editor's
		}
		looked++
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if t.Logf("%d workflows", looked); looked < 300 {
		t.Errorf("only %d workflows were looked at", looked)
	}
}

// TestSchemaRefuses proves that an editor shows mistakes that the checks find.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	for _, text := range []string{
		"timezoen: UTC",
		"run: {sh>: x}",
		"+a: {shell: [sh]}",
		"+a: {echo: x}",
		"+a: {+b: {echo>: x}, table: x}",
		"+a: {sh>: x, +b: {echo>: x}}",
		"+a: {sh>: x, _rety: 3}",
		"+a: {+b: {sh>: x, _exprot: {}}}",
		"+a: {sh>: x, _retry: three}",
		"+a: {sh>: x, _retry: {limt: 3}}",
		"+a: {sh>: x, _retry: {interval: 3}}",
		"+a: {sh>: x, _retry: {limit: 3, interval_type: linear}}",
		"+a: {_parallel: {limti: 3}, +b: {echo>: x}}",
		"_parallel: often\n+a: {}",
		"+a: {_parallel: true, +b: {_after: [c], echo>: x}}",
		"+a: {sh>: x, _background: perhaps}",
		"+a: {sh>: x, _error: {+b: {ecoh: x}}}",
		"+a: {if>: x, _do: {+b: {ecoh: x}}}",
		"schedule: {dialy>: \"07:00:00\"}",
		"schedule: {daily>: \"07:00:00\", delay: 3}",
		"schedule: {daily>: \"07:00:00\", skip_on_overtim: true}",
		"schedule: {daily>: \"07:00:00\", start: tomorrow}",
		"schedule: {start: 2026-01-01}",
		"sla: {alert: true}",
		"sla: {time: \"09:00\", duration: \"01:00\"}",
		"+a: text",
	} {
		value, err := plainYAML(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("no fault is found with %s", text)
		}
	}
}

func readSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("dig.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("dig.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("dig.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var blockOfFile = regexp.MustCompile("(?ms)^```yaml\n# ([\\w./-]+\\.dig)\n(.*?)^```")

// workflows returns all workflows in the repository, by path; those on pages by page and name.
func workflows(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, folder := range []string{"examples", "integration", "internal/projectfolder/templates", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".dig" && path.Ext(name) != ".md" {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			name = strings.TrimPrefix(filepath.ToSlash(name), root+"/")
			if path.Ext(name) == ".dig" {
				found[name] = string(text)
			}
			for i, m := range blockOfFile.FindAllStringSubmatch(string(text), -1) {
				found[fmt.Sprintf("%s/%d/%s", name, i, path.Base(m[1]))] = m[2]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// plainYAML reads a workflow as an editor does, that is, without our rules.
func plainYAML(text string) (any, error) {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil, err
	}
	return plainValue(value), nil
}

func plainValue(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			x[k] = plainValue(e)
		}
	case map[any]any:
		out := map[string]any{}
		for k, e := range x {
			if k == nil {
				k = "" // the name of an include
			}
			out[fmt.Sprint(k)] = plainValue(e)
		}
		return out
	case []any:
		for i, e := range x {
			x[i] = plainValue(e)
		}
	case int, int64, uint64, float64, bool, string, nil:
	case time.Time: // text for workflows and for editors
		return x.Format(time.DateOnly)
	default:
		return fmt.Sprint(x)
	}
	return v
}
