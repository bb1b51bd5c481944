package projectfolder

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// filled returns a folder with files; a name that ends in "/" creates a folder, and content that begins with "-> "
// creates a link.
func filled(t *testing.T, files map[string]string) Folder {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		target, isLink := strings.CutPrefix(text, "-> ")
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOwnState proves that a run does not write through a link that came with the project, but fails before it runs
// anything.
func TestOwnState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files map[string]string
		wrong string
	}{
		{map[string]string{"a.dig": ""}, ""},
		{map[string]string{".digdag/status/x/+a.yml": "", ".digdag/tmp/": ""}, ""},
		{map[string]string{".zerodag/status/x/+a.yml": "", ".digdag": "-> /tmp"}, ""}, // which no run uses
		{map[string]string{".zerodag": "-> /tmp"}, "/.zerodag is a link"},
		{map[string]string{".zerodag/tmp": "-> ../.."}, "/.zerodag/tmp is a link"},
		{map[string]string{".zerodag/status": ""}, "/.zerodag/status is a file"},
		{map[string]string{".digdag": "-> /tmp"}, "/.digdag is a link"},
		{map[string]string{".digdag/status": "-> ../.."}, "/.digdag/status is a link"},
		{map[string]string{".digdag/status/deep/er": "-> nowhere"}, "/.digdag/status/deep/er is a link"},
		{map[string]string{".digdag": ""}, "/.digdag is not a folder"},
		{map[string]string{".digdag/tmp": ""}, "/.digdag/tmp is a file"},
	} {
		err := filled(t, c.files).OwnState()
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v: %v, want %q", c.files, err, c.wrong)
		}
	}
}

// TestOpen proves that only a folder can be opened.
func TestOpen(t *testing.T) {
	t.Parallel()
	f := filled(t, map[string]string{"a.dig": ""})
	for name, wrong := range map[string]string{f.Root(): "", "": "", filepath.Join(f.Root(), "a.dig"): "is a file: name the folder", filepath.Join(f.Root(), "b"): "no such file"} {
		if _, err := Open(name); (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := f.Writable(); err != nil {
		t.Errorf("a folder of the user: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(f.Root(), ".zerodag")); err != nil || len(entries) != 1 || entries[0].Name() != ".gitignore" {
		t.Errorf("it was tried, and left %v, %v", entries, err)
	}
}

// TestRunFolder proves that a project that has only Digdag's run folder keeps it, and that all others use zerodag's.
func TestRunFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"a.dig": ""}, ".zerodag"},
		{map[string]string{".digdag/": ""}, ".digdag"},
		{map[string]string{".digdag/status/": "", ".zerodag/": ""}, ".zerodag"},
		{map[string]string{".digdagignore": ""}, ".zerodag"},
	} {
		f := filled(t, c.files)
		if f.RunFolder() != c.want || f.StatusFolder() != filepath.Join(f.Root(), c.want, "status") || f.TempFolder() != filepath.Join(f.Root(), c.want, "tmp") {
			t.Errorf("%v: %s and %s, want %s", c.files, f.RunFolder(), f.StatusFolder(), c.want)
		}
		if err := os.MkdirAll(filepath.Join(f.Root(), ".digdag"), 0o755); err != nil || f.RunFolder() != c.want {
			t.Errorf("%v: it changed to %s (%v)", c.files, f.RunFolder(), err)
		}
	}
}

// TestFind checks the errors for a workflow that does not exist: its name resembles another, it is a folder, a script or
// a file with another extension, or it is in a subfolder.
func TestFind(t *testing.T) {
	t.Parallel()
	const task = "+a:\n  echo>: x\n"
	here := filled(t, map[string]string{"main.dig": task, "load.py": "", "job.sh": "", "q.sql": "", "flow.yml": task, "upper.DIG": task, "plain": task, "notes.txt": "text", "main.yaml": "a: b"})
	below := filled(t, map[string]string{"flows/main.dig": task})
	for _, c := range []struct {
		f             Folder
		name, project string
		want          []string
	}{
		{here, "mian", "", []string{"Workflow 'mian' does not exist in current directory", "hint: did you mean main?"}},
		{here, "mian", "dir", []string{"does not exist in project directory 'dir'"}},
		{here, "a b/main", "", []string{`type "cd 'a b'" first`, `set "--project 'a b'" option`}},
		{here, ".", "", []string{"hint: name a workflow, such as main"}},
		{here, "+a", "", []string{"hint: name the workflow first: zerodag run main +a"}},
		{here, "main+a", "", []string{"hint: put a space before the task: zerodag run main +a"}},
		{here, "load.py", "", []string{"load.py is not a workflow", "`sh>: python3 load.py` or `py>: load.FUNCTION`"}},
		{here, "job.sh", "", []string{"`sh>: sh job.sh`"}},
		{here, "q.sql", "", []string{"`pg>: q.sql`"}},
		{here, "flow", "", []string{"flow.yml is not a workflow", "rename it: mv flow.yml flow.dig"}},
		{here, "upper", "", []string{"ends in .dig, in small letters", "mv upper.DIG upper.dig"}},
		{here, "main.yaml", "", []string{"did you mean main.dig?"}},
		{here, "notes.txt", "", []string{"`zerodag check` shows the workflows of this folder"}},
		{below, "main", "", []string{"hint: found flows/main.dig: use --project flows"}},
	} {
		contents, err := c.f.ReadHere("", io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		w, err := c.f.Find(contents.Workflows, c.name, c.project)
		if err == nil {
			t.Errorf("%s is %s", c.name, w.Name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
	contents, err := here.Read()
	if err != nil {
		t.Fatal(err)
	}
	if w, err := here.Find(contents.Workflows, here.WorkflowName("./main.dig"), ""); err != nil || w.Name != "main" {
		t.Errorf("main.dig is %s, %v", w.Name, err)
	}
}

// TestIgnoredWorkflow proves that a workflow that an ignore file excludes is read, with a note, only if the user names
// it.
func TestIgnoredWorkflow(t *testing.T) {
	t.Parallel()
	f := filled(t, map[string]string{"main.dig": "+a: {echo>: x}\n", "try.dig": "+a: {echo>: x}\n", ".zerodagignore": "# mine\ntry.dig\n"})
	for named, want := range map[string]int{"": 1, "main": 1, "try": 2} {
		var notes strings.Builder
		c, err := f.ReadHere(named, &notes)
		if err != nil || len(c.Workflows) != want || (strings.HasPrefix(notes.String(), "note: line 2 of .zerodagignore excludes try.dig from the project")) != (want == 2) {
			t.Errorf("%q: %d workflows, %q, %v", named, len(c.Workflows), notes.String(), err)
		}
	}
	if c, err := f.Read(); err != nil || len(c.Workflows) != 1 {
		t.Errorf("a push reads %v, %v", c.Names, err)
	}
}

// TestNoWorkflow checks what the error for a folder without workflows suggests.
func TestNoWorkflow(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"`zerodag init` creates one": {"notes.txt": "text"}, "found jobs/a.dig: use --project jobs": {"jobs/a.dig": "", "x.yml": "+a:\n  echo>: x\n"}, "found x.yml: rename it: mv x.yml x.dig": {"x.yml": "+a:\n  echo>: x\n"},
	} {
		if got := filled(t, files).NoWorkflow().Message; !strings.Contains(got, want) {
			t.Errorf("%v: %q, want %q", files, got, want)
		}
	}
}

// TestWarnings proves that the warnings of a whole folder include those about plugins and scripts, and that the
// warnings of a run consider the values given to it and ignore other files.
func TestWarnings(t *testing.T) {
	t.Parallel()
	f := filled(t, map[string]string{
		"main.dig": "+a:\n  if>: ${rows > limit}\n  _do: {echo>: x}\n", "other.dig": "+a: {loop>: 2.5, _do: {echo>: x}}\n",
		"operators/mine": "#!/bin/sh\n", "load.py": "import digdag\ndigdag.env.store({'a': '${b}'})\n",
	})
	c, err := f.Read()
	if err != nil {
		t.Fatal(err)
	}
	said := func(only string, given *param.Map) string {
		list, err := f.Warnings(c, only, given)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := TellWarnings(&out, list, true); (err != nil) != (len(list) > 0) {
			t.Errorf("strictly: %v", err)
		}
		return out.String()
	}
	whole := said("", nil)
	for _, want := range []string{"operators/mine", "other.dig", "2.5 counts as 2"} {
		if !strings.Contains(whole, want) {
			t.Errorf("of the whole folder: %q, want %q", whole, want)
		}
	}
	for text, params := range map[string]*param.Map{"": param.New("rows", int64(10), "limit", int64(9)), "main.dig:": param.New("rows", "10", "limit", "9")} {
		got := said("main.dig", params)
		if strings.Contains(got, "main.dig:") != (text != "") || strings.Contains(got, "other.dig") {
			t.Errorf("of a run with %s: %q", param.Text(params), got)
		}
	}
	unread, err := f.UnreadParams([]string{"rows=1,_x=1", "nothing.b=2"})
	if err != nil || len(unread) != 1 || !strings.Contains(unread[0].Error(), "nothing") {
		t.Errorf("of -p: %v, %v", unread, err)
	}
}

// TestSortFaults proves that an invalid schedule is an error only for its own workflow.
func TestSortFaults(t *testing.T) {
	t.Parallel()
	faults := dig.ScheduleFaults{Wrong: dig.Errors{{File: "a.dig", Message: "wrong."}}, Unused: dig.Errors{{File: "b.dig", Message: "unused."}}}
	for of, want := range map[string][]string{"b.dig": {"unused, and a push refuses it", "wrong."}, "c.dig": {"unused, and a push refuses it", "wrong."}, "a.dig": nil, "": nil} {
		warnings, err := SortFaults(faults, of)
		var got []string
		for _, w := range warnings {
			got = append(got, w.Message)
		}
		if diff := cmp.Diff(want, got); diff != "" || (err != nil) != (want == nil) {
			t.Errorf("%q: %v\n%s", of, err, diff)
		}
	}
}

// TestUnreadDotEnv checks when a warning says that nothing reads .env: a file uses one of its variables that nothing
// else sets.
func TestUnreadDotEnv(t *testing.T) {
	t.Setenv("SET_OUTSIDE", "x")
	use := "+a: {sh>: echo $TOKEN $SET_OUTSIDE $GIVEN}\n"
	for _, c := range []struct {
		files map[string]string
		warns bool
	}{
		{map[string]string{"a.dig": use}, false},
		{map[string]string{".env": "TOKEN=1\n", "a.dig": use}, true},
		{map[string]string{".env": "  export TOKEN = 1\n# X=\n", "a.dig": use}, true},
		{map[string]string{".env": "SET_OUTSIDE=1\nGIVEN=2\nUNUSED=3\n", "a.dig": use}, false},
		{map[string]string{".env": "TOKEN=1\n", "a.dig": use, "x.sh": "TOKEN=2 exec y"}, false},
		{map[string]string{".env": "TOKEN=1\n", "a.dig": use, "x.py": "from dotenv import load_dotenv"}, false},
		{map[string]string{".env": "-> /dev/zero", "a.dig": use}, false},
		{map[string]string{".env/": "", "a.dig": use}, false},
		{map[string]string{".env": strings.Repeat("#", mostOfFile) + "\nTOKEN=1\n", "a.dig": use}, false},
	} {
		if got := filled(t, c.files).UnreadDotEnv(param.New("GIVEN", "x")); (len(got) > 0) != c.warns {
			t.Errorf("%.100v: %v", c.files, got)
		}
	}
}
