package tour

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is an instruction that a page gives its reader: to type a command or to save a file.
type step struct {
	line    int
	command string   // or the text of the file
	file    string   // its name; "" for a command
	want    []string // lines of the output; "..." stands for any number of lines, or at the end of a line for its rest
}

// typed returns the input of a shell for a step.
func (s step) typed() string {
	if s.file == "" {
		return s.command
	}
	return "mkdir -p '" + path.Dir(s.file) + "' && cat >'" + s.file + "' <<'END OF THE FILE'\n" + s.command + "END OF THE FILE"
}

// reading holds the contents of a page: steps, blocks marked as not run, and the lines of blocks that are neither.
type reading struct {
	steps  []step
	notRun int
	others []int
}

var (
	// fileLine matches the first line of a block that is a whole file: a comment with its name.
	fileLine = regexp.MustCompile(`^(?:#|--) ([\w./-]+\.\w+)$`)
	notRun   = regexp.MustCompile(`^(?:#|--) Not run: `)
)

// read finds the blocks of a page.
func read(text string) (r reading) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		kind, fence := strings.CutPrefix(lines[i], "```")
		if !fence {
			continue
		}
		first := i + 1
		for i++; i < len(lines) && lines[i] != "```"; i++ {
		}
		r.block(kind, first, lines[first:min(i, len(lines))])
	}
	return r
}

// block adds a block whose text begins after the given line.
func (r *reading) block(kind string, line int, text []string) {
	if len(text) == 0 {
		r.others = append(r.others, line)
		return
	}
	named := fileLine.FindStringSubmatch(text[0])
	switch {
	case notRun.MatchString(text[0]):
		r.notRun++
	case kind == "console":
		for i, l := range text {
			if command, ok := strings.CutPrefix(l, "$ "); ok {
				r.steps = append(r.steps, step{line: line + i + 1, command: command})
			} else if len(r.steps) > 0 {
				last := &r.steps[len(r.steps)-1]
				last.want = append(last.want, l)
			}
		}
	case named != nil:
		r.steps = append(r.steps, step{line: line, file: named[1], command: strings.Join(text, "\n") + "\n"})
	default:
		r.others = append(r.others, line)
	}
}

// unused lists the files that neither a later command nor another file names.
func (r *reading) unused() (list []string) {
	for i, file := range r.steps {
		name, _, _ := strings.Cut(path.Base(file.file), ".")
		if file.file != "" && !slices.ContainsFunc(r.steps, func(s step) bool { return s.line != file.line && strings.Contains(s.command, name) }) {
			list = append(list, r.steps[i].file)
		}
	}
	return list
}

// pages returns the pages whose commands are typed. On pages for users of the language, every block is a step; on the
// others, only blocks of commands with their output are.
func pages(t *testing.T) map[string]bool {
	t.Helper()
	language, err := filepath.Glob("../../docs/language/*.md")
	if err != nil {
		t.Fatal(err)
	}
	how, err := filepath.Glob("../../docs/how-to/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"docs/tutorial.md": true, "docs/cli.md": false, "docs/server.md": false, "docs/migrate-from-digdag.md": false}
	for _, p := range how {
		all[strings.TrimPrefix(filepath.ToSlash(p), "../../")] = false
	}
	for _, p := range language {
		all[strings.TrimPrefix(filepath.ToSlash(p), "../../")] = true
	}
	return all
}

// TestPages checks that a reader who saves the files of a page and types its commands gets the output that the page
// shows.
func TestPages(t *testing.T) {
	t.Parallel()
	const enough, notRun = 18, 0
	all, left := pages(t), 0
	if len(all) < enough {
		t.Errorf("only %d pages were found", len(all))
	}
	for page, whole := range all {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		r := read(string(text))
		left += r.notRun
		for _, line := range r.others {
			if whole {
				t.Errorf("%s:%d: this block is neither a file, whose first line has its name, nor commands with their output", page, line)
			}
		}
		for _, file := range r.unused() {
			t.Errorf("%s: nothing is done with the file %s", page, file)
		}
		if whole && len(r.steps) < 4 {
			t.Errorf("%s has only %d steps", page, len(r.steps))
		}
		t.Run(strings.TrimSuffix(path.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			open(t).follow(t, page, r.steps)
		})
	}
	if left != notRun {
		t.Errorf("%d blocks are not run, and %d are known", left, notRun)
	}
}

// TestRead checks that the kinds of blocks are distinguished.
func TestRead(t *testing.T) {
	t.Parallel()
	r := read("text\n```yaml\n# a/b.dig\n+x: {}\n```\n```console\n$ one b\nout\n...\n$ two\n```\n```yaml\nx: 1\n```\n```sh\n# Not run: why\n```\n```python\n# c.py\n```\n```yaml\n```\n")
	if len(r.steps) != 4 || r.notRun != 1 || len(r.others) != 2 {
		t.Fatalf("%+v", r)
	}
	if s := r.steps[0]; s.file != "a/b.dig" || s.command != "# a/b.dig\n+x: {}\n" || s.line != 2 {
		t.Errorf("%+v", s)
	}
	if s := r.steps[1]; s.command != "one b" || strings.Join(s.want, " ") != "out ..." || s.line != 7 {
		t.Errorf("%+v", s)
	}
	if got := r.unused(); strings.Join(got, " ") != "c.py" {
		t.Errorf("unused: %v", got)
	}
}
