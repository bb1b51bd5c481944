package dagu_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/dagu"
)

var rewrite = flag.Bool("rewrite", false, "write what came out into the files; read the diff before you keep it")

// fewest is the minimum number of cases: a test whose glob finds nothing must not pass.
const fewest = 15

// TestTranslate checks the translation of Dagu's workflows, and its notes. Each test file contains the workflow,
// "in.yaml", followed by the results.
func TestTranslate(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < fewest {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil || len(a.Files) == 0 {
				t.Fatal(err)
			}
			got := txtar.Format(&txtar.Archive{Comment: a.Comment, Files: append(a.Files[:1:1], translated(a.Files[0].Data)...)})
			if want := txtar.Format(a); string(want) == string(got) {
				return
			} else if !*rewrite {
				t.Fatal(cmp.Diff(string(want), string(got)))
			}
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func translated(text []byte) (out []txtar.File) {
	r, err := dagu.Translate("in.yaml", text, dagu.ByKeys)
	for _, f := range r.Files {
		out = append(out, txtar.File{Name: f.Name, Data: f.Text})
	}
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "lost=%v %s\n", n.Lost, n)
	}
	if r.Steps.Total() > 0 {
		fmt.Fprintf(&b, "steps: %d translated, %d changed, %d refused\n", r.Steps.Translated, r.Steps.Changed, r.Steps.Refused)
	}
	if err != nil {
		fmt.Fprintln(&b, "error:", err)
	}
	if b.Len() > 0 {
		out = append(out, txtar.File{Name: "notes", Data: []byte(b.String())})
	}
	return out
}

// TestRefuses proves that a step that cannot be translated runs neither its command nor a replacement.
func TestRefuses(t *testing.T) {
	t.Parallel()
	step := func(text string) string { return "steps:\n  - id: a\n" + indented(text) }
	for name, text := range map[string]string{
		"executor of another kind":      step("executor: gha\ncommand: touch danger"),
		"executor with an unknown key":  step("executor: {type: ssh, config: {user: u, ip: h, jump: x}}\ncommand: touch danger"),
		"executor without a type":       step("executor: {config: {image: x}}\ncommand: touch danger"),
		"docker without an image":       step("executor: docker\ncommand: touch danger"),
		"container that is there":       step("container: web\ncommand: touch danger"),
		"container with an unknown key": step("container: {image: x, healthcheck: {test: [x]}}\ncommand: touch danger"),
		"ssh without a host":            step("type: ssh\ncommand: touch danger"),
		"ssh with an output":            step("type: ssh\nwith: {host: h, user: u}\ncommand: touch danger\noutput: X"),
		"unknown action":                step("action: archive.create\nwith: {source: danger}"),
		"remote action":                 step("action: owner/danger@v1"),
		"run and action":                step("run: touch danger\naction: noop"),
		"no command":                    step("description: danger"),
		"empty run":                     step("run: \" \""),
		"empty script":                  step("script: \"\\n\""),
		"unknown key":                   step("command: touch danger\nrunner: elsewhere"),
		"worker":                        step("command: touch danger\nworkerSelector: {gpu: \"true\"}"),
		"packages":                      step("run: touch danger\nwith: {shell_packages: [x]}"),
		"shell that is not here":        step("shell: pwsh\ncommand: touch danger"),
		"unknown reference":             step("command: touch danger ${b.stdout}"),
		"folder of the wiki":            step("command: touch danger $DAG_WIKI_DIR"),
		"defaults that say what to do":  "defaults:\n  foreach: {items: [a, b], steps: [{id: c, command: touch danger}]}\n" + step("foreach: {items: [a], steps: [{id: d, command: touch danger}]}"),
		"words or commands":             step("command: [touch, danger]"),
		"parallel without a workflow":   step("command: touch danger\nparallel: [a, b]"),
		"workflow known when it runs":   step("call: $danger"),
		"no such step":                  step("command: touch danger\ndepends: b"),
		"unknown precondition":          step("command: touch danger\npreconditions: [{condition: x, unless: y}]"),
		"condition nobody can compute":  step("command: touch danger\npreconditions: [{condition: \"${b.output}\", expected: x}]"),
		"s3":                            step("type: s3\ncommand: upload\nwith: {bucket: danger, key: k, source: s}"),
		"query without a plain URL":     step("type: postgres\ncommand: DROP TABLE danger\nwith: {dsn: \"${DSN}\"}"),
		"handler":                       "steps: [\"true\"]\nhandlerOn: {exit: {executor: docker, command: touch danger}}",
		"options with -c":               step("run: touch danger\nwith: {shell: sh, shell_args: [-ec]}"),
		"whole result of a call":        "steps:\n  - {id: a, action: dag.run, with: {dag: x}, output: R}\n  - {id: b, depends: a, run: touch danger $R}\n",
		"script for a shell with -c":    step("run: |\n  touch danger\nwith: {shell: [sh, -c]}"),
		"file with a shell's expansion": step("action: file.write\nwith: {path: danger, content: \"${X:=y}\"}"),
		"file after a backslash":        step("action: file.write\nwith: {path: danger, content: '\\$HOME'}"),
		"file of another mode":          step("action: file.write\nwith: {path: danger, content: x, mode: u+s}"),
		"file below a parent":           step("action: file.read\nwith: {path: \"${X}/../danger\"}"),
		"template that decides":         "params: [{name: P, default: x}]\nsteps:\n  - {id: a, action: template.render, with: {template: \"{{ .p | upper }}\", data: {p: \"${params.P}\"}, output: danger}}\n",
		"template with unknown words":   step("action: template.render\nwith: {template: \"{{ now }}\", output: danger}"),
		"collected without a value":     step("foreach: {items: [a], steps: [{id: b, run: touch danger}], collect: {x: \"${steps.c.outputs.y}\"}}"),
		"outputs without names":         step("run: touch danger\nstdout: {outputs: {decode: json}}"),
		"top: unknown key":              "wherever: x\nsteps: [touch danger]",
		"top: tools":                    "tools: [jq]\nsteps: [touch danger]",
		"top: worker":                   "workerSelector: {a: b}\nsteps: [touch danger]",
		"top: container that is there":  "container: web\nsteps: [touch danger]",
		"top: container with a key":     "container: {image: x, command: [y]}\nsteps: [touch danger]\nhandlerOn: {exit: {command: touch danger}}",
		"top: container with unknown":   "container: {image: x, env: [\"A=${b.c}\"]}\nsteps: [touch danger]",
		"top: another type":             "type: agent\nsteps: [touch danger]",
		"top: keys twice":               "workingDir: a\nworking_dir: b\nsteps: [touch danger]",
		"top: default of a parameter":   "params: [{name: P, type: integer, default: \"`date`\"}]\nsteps: [touch danger $P]",
		"top: ssh":                      "ssh: {user: u}\nsteps: [touch danger]",
		"top: redis":                    "redis: {host: h}\nsteps: [touch danger]",
		"top: harness":                  "harness: {provider: p}\nsteps: [{command: touch danger}]",
		"top: condition and container":  "container: {image: x}\nsteps: [{command: touch danger, preconditions: \"true\"}]",
		"top: shell":                    "shell: nix-shell\nsteps: [touch danger]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := dagu.Translate("in.yaml", []byte(text), dagu.ByKeys)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Files {
				for line := range strings.Lines(string(f.Text)) {
					if strings.Contains(line, "danger") && !strings.Contains(line, "#") && !strings.Contains(line, "fail>") {
						t.Errorf("it may run: %s\n%s", line, f.Text)
					}
				}
				if !strings.Contains(string(f.Text), "fail>: \"not translated from Dagu: ") {
					t.Errorf("nothing fails:\n%s", f.Text)
				}
			}
			if r.Steps.Refused == 0 || len(r.Notes) == 0 {
				t.Errorf("%+v, %d notes", r.Steps, len(r.Notes))
			}
		})
	}
}

// TestSameNames proves that a value of a called workflow is refused only if another call may have replaced it.
func TestSameNames(t *testing.T) {
	t.Parallel()
	const calls = "\nsteps:\n  - {id: a, call: w, output: A}\n  - {id: b, call: w, output: B}\n  - {id: c, depends: [a, b], command: 'echo ${B.outputs.X}'}\n" +
		"---\nname: w\nsteps:\n  - {id: s, command: echo, output: X}\n"
	for order, refused := range map[string]int{"type: graph": 1, "type: chain": 0} {
		r, err := dagu.Translate("in.yaml", []byte(order+calls), dagu.ByKeys)
		if err != nil {
			t.Fatal(err)
		}
		if r.Steps.Refused != refused {
			t.Errorf("%s: %+v\n%s", order, r.Steps, r.Files[0].Text)
		}
	}
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

// FuzzTranslate proves that any file is either translated to workflows that a push accepts or refused with an error,
// that each step is counted, and that no command is empty.
func FuzzTranslate(f *testing.F) {
	for _, pattern := range []string{"testdata/*.txtar", "../../cmd/zerodag/testdata/dagu/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < fewest {
			f.Fatalf("%d files: %v", len(names), err)
		}
		for _, name := range names {
			a, err := txtar.ParseFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(a.Files[0].Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := dagu.Translate("in.yaml", text, dagu.ByKeys)
		if err != nil {
			return
		}
		if len(r.Files) == 0 {
			t.Error("neither a workflow nor an error")
		}
		for _, file := range r.Files {
			v, _, err := dig.ParseLocated(file.Name, file.Text)
			if err != nil {
				t.Fatal(err)
			}
			noEmptyCommand(t, v)
		}
		if want, sure := stepsIn(string(text)); sure && want != r.Steps.Total() {
			t.Errorf("%d steps, and %+v", want, r.Steps)
		}
	})
}

func noEmptyCommand(t *testing.T, v param.Value) {
	switch x := v.(type) {
	case *param.Map:
		for key, v := range x.All() {
			if text, isText := v.(string); key == "sh>" && (!isText || strings.TrimSpace(text) == "") {
				t.Errorf("an empty command: %v", v)
			}
			noEmptyCommand(t, v)
		}
	case []param.Value:
		for _, v := range x {
			noEmptyCommand(t, v)
		}
	}
}

// stepsIn independently counts the steps of a file; sure reports whether this works for the form of the file.
func stepsIn(text string) (n int, sure bool) {
	if strings.Contains(text, "---") || strings.Contains(text, "defaults") || strings.Contains(text, "ypes") || strings.Contains(text, "actions") || strings.Contains(strings.ToLower(text), "foreach") {
		return 0, false
	}
	v, _, err := dig.ParseLocated("in.yaml", []byte(text))
	top, isMap := v.(*param.Map)
	if err != nil || !isMap {
		return 0, false
	}
	var count func(v param.Value) int
	count = func(v param.Value) (n int) {
		switch x := v.(type) {
		case *param.Map:
			return x.Len()
		case []param.Value:
			for _, v := range x {
				if list, isList := v.([]param.Value); isList {
					n += count(list)
				} else {
					n++
				}
			}
		}
		return n
	}
	for key, v := range top.All() {
		switch strings.ReplaceAll(strings.ToLower(key), "_", "") {
		case "steps":
			if key != "steps" {
				return 0, false
			}
			n += count(v)
		case "handleron":
			if m, isMap := v.(*param.Map); isMap {
				for _, v := range m.All() {
					if _, isMap := v.(*param.Map); !isMap {
						return 0, false
					}
				}
				n += m.Len()
			}
		}
	}
	return n, true
}

// TestRelease proves that the release decides the order of steps and the meaning of commands in values, whatever keys
// the file has.
func TestRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, text, want string
	}{
		{"", "steps: [{command: echo one}, {command: echo two}]", "chain"},
		{"2.15", "steps: [{command: echo one}, {command: echo two}]", "graph"},
		{"v2.7.0", "steps: [{command: echo one}, {command: echo two}]", "graph"},
		{"2.6.4", "steps: [{run: echo one}, {run: echo two}]", "chain"},
		{"1.30", "steps: [{run: echo one}, {run: echo two}]", "chain"},
		{"", "steps: [{run: echo one}, {run: echo two}]", "graph"},
		{"3.0", "type: chain\nsteps: [{command: echo one}, {command: echo two}]", "chain"},
		{"2.15", "env: [{A: \"`date`\"}]\nsteps: [{command: echo $A}]", "A: \"`date`\""},
		{"2.6", "env: [{A: \"`date`\"}]\nsteps: [{run: echo $A}]", "A=\"$(date)\""},
		{"2.15", "steps: [{command: [make, test]}]", "(make)"},
	} {
		by := dagu.ByKeys
		if c.version != "" {
			var err error
			if by, err = dagu.ReleaseOf(c.version); err != nil {
				t.Fatal(err)
			}
		}
		r, err := dagu.Translate("in.yaml", []byte(c.text), by)
		if err != nil {
			t.Fatal(err)
		}
		text := string(r.Files[0].Text)
		isGraph := strings.Contains(text, "_parallel: true")
		if c.want == "graph" && !isGraph || c.want == "chain" && isGraph || c.want != "graph" && c.want != "chain" && !strings.Contains(text, c.want) {
			t.Errorf("%s %s\n%s\nwanted: %s", c.version, c.text, text, c.want)
		}
	}
	for _, version := range []string{"x", "2", "", "two.one"} {
		if _, err := dagu.ReleaseOf(version); err == nil {
			t.Errorf("%q is no release", version)
		}
	}
}
