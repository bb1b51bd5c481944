package dig

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestFind checks that the place of a failed task is where its author has to look, even if a loop, a condition, a
// handler or another file generated it.
func TestFind(t *testing.T) {
	t.Parallel()
	read := mapSource(map[string]string{
		"main.dig": `_export:
  far: ${nowhere}
+g:
  +a:
    echo>: x
  +b:
    _export:
      near: ${gone.x}
    sh>: "echo ${1 +}"
    _env: 3
+loop:
  loop>: 3
  _do:
    +in:
      echo>: ${oops}
+each:
  for_each>: {x: [1, 2]}
  _do:
    fail>: here
+if:
  if>: ${x}
  _do:
    +yes: {echo>: y}
  _else_do:
    +no:
      fail>: no
+which:
  if>: true
  _do: {echo>: a}
  _else_do: {echo>: b}
+call:
  call>: sub/other
+list:
  - sh>: x
  - _retry: 1
+err:
  sh>: x
  _error:
    +tell:
      mail>: y
!include : more.dig
+rows:
  td_for_each>: q.sql
  _do:
    fail>: here
`,
		"more.dig":      "+more:\n\n  sh>: z\n",
		"sub/other.dig": "+x:\n  call>: third.dig\n",
		"sub/third.dig": "\n+y:\n  py>: f\n",
	})
	for _, c := range []struct{ task, message, want string }{
		{"+main", "", "main.dig:0:0"},
		{"+main+g", "", "main.dig:3:1"},
		{"+main+g+a", "", "main.dig:5:5"},
		{"+main+g+b", "", "main.dig:9:5"},
		{"+main+g+b", "Failed to evaluate a variable echo ${1 +} (SyntaxError)", "main.dig:9:5"},
		{"+main+g+b", "Failed to evaluate a variable ${gone.x} (ReferenceError)", "main.dig:8:7"},
		{"+main+g+b", "Failed to evaluate a variable ${nowhere} (ReferenceError)", "main.dig:2:3"},
		{"+main+g+b", "Parameter '_env' must be an object", "main.dig:10:5"},
		{"+main+g+b", "Parameter '_command' is required", "main.dig:9:5"},
		{"+main+loop^sub+loop-0+in", "Failed to evaluate a variable ${oops} (ReferenceError)", "main.dig:15:7"},
		{"+main+each^sub+for-0=x=0=1", "here", "main.dig:19:5"},
		{"+main+rows^sub+td-for-each-0", "here", "main.dig:45:5"},
		{"+main+if^sub+no", "no", "main.dig:26:7"},
		{"+main+which^sub", "", "main.dig:28:3"},
		{"+main+call^sub+x^sub+y", "", "sub/third.dig:3:3"},
		{"+main+call^sub+nosuch", "", "main.dig:32:3"},
		{"+main+list", "", "main.dig:34:5"},
		{"+main+err^error+tell", "", "main.dig:40:7"},
		{"+main+more", "", "more.dig:3:3"},
		{"+main^failure-alert", "", "main.dig:0:0"},
	} {
		place, found := Find(read, "main.dig", c.task, c.message)
		if want := c.want; !found && want == "main.dig:0:0" {
			continue
		} else if place.String() != want {
			t.Errorf("%s, %q: %s, want %s", c.task, c.message, place, want)
		}
	}
	if place, found := Find(read, "nosuch.dig", "+nosuch", ""); found {
		t.Errorf("a place of what is not there: %s", place)
	}
}

// TestNames checks that a task sees its own exports, the exports of groups around it, including groups around the call>
// that generated it, and the variables of the loops around it, but nothing from its siblings.
func TestNames(t *testing.T) {
	t.Parallel()
	read := mapSource(map[string]string{
		"main.dig": `_export:
  far: 1
+g:
  _export: {near: 2}
  +a:
    _export: {own: 3}
    call>: sub/other
  +b:
    _export: {other: 4}
    echo>: x
+each:
  for_each>: {x: [1], y: [2]}
  _do:
    loop>: 2
    _do:
      echo>: ${z}
`,
		"sub/other.dig": "_export:\n  theirs: 5\n+x:\n  echo>: x\n",
	})
	for _, c := range []struct{ task, want string }{
		{"+main+g+a^sub+x", "far=main.dig:2:3 near=main.dig:4:13 own=main.dig:6:15 theirs=sub/other.dig:2:3"},
		{"+main+g+b", "far=main.dig:2:3 near=main.dig:4:13 other=main.dig:9:15"},
		{"+main+each", "far=main.dig:2:3"},
		{"+main+each^sub+for-0=x=0=1^sub+loop-0", "far=main.dig:2:3 i=main.dig:14:5 x=main.dig:12:3 y=main.dig:12:3"},
	} {
		names := Names(read, "main.dig", c.task)
		var list []string
		for _, name := range slices.Sorted(maps.Keys(names)) {
			list = append(list, name+"="+names[name].String())
		}
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.task, got, c.want)
		}
	}
	if names := Names(read, "nosuch.dig", "+nosuch"); len(names) > 0 {
		t.Errorf("names of what is not there: %v", names)
	}
}

// FuzzFind checks that no task name or workflow makes Find fail.
func FuzzFind(f *testing.F) {
	f.Add("+a:\n  call>: main\n", "+main+a^sub+a^sub+a", "")
	f.Add("+a:\n  loop>: 1\n  _do: {echo>: x}\n", "+main+a^sub+loop-0", "'x'")
	f.Add("+a: [{_do: 3}, 4]\n", "+main+a^sub", "")
	f.Fuzz(func(t *testing.T, text, task, message string) {
		place, found := Find(mapSource(map[string]string{"main.dig": text}), "main.dig", task, message)
		if found && (place.Line < 1 || place.File == "") {
			t.Fatalf("found %v", place)
		}
		for name, at := range Names(mapSource(map[string]string{"main.dig": text}), "main.dig", task) {
			if at.Line < 1 {
				t.Fatalf("%s is at %v", name, at)
			}
		}
	})
}

// TestPlacesInTheBase checks that keys from the project's settings are found there, and that keys that a file overrides
// are found in the file.
func TestPlacesInTheBase(t *testing.T) {
	t.Parallel()
	read := mapSource(map[string]string{
		"main.dig":    "zerodag: 1\n_export: {own: 1}\n_finally:\n  fail>: x\n+a:\n  echo>: x\n",
		"zerodag.yml": "zerodag: 1\nbase:\n  _finally:\n    echo>: base\n  _export: {own: 2, far: 3}\n  _error:\n    fail>: x\n",
	})
	for task, want := range map[string]string{
		"+main^error":   "zerodag.yml:7:5",
		"+main^finally": "main.dig:4:3",
		"+main+a":       "main.dig:6:3",
	} {
		if at, found := Find(read, "main.dig", task, ""); !found || at.String() != want {
			t.Errorf("%s: got %v, want %s", task, at, want)
		}
	}
	names := Names(read, "main.dig", "+main+a")
	if own, far := names["own"].String(), names["far"].String(); own != "main.dig:2:11" || far != "zerodag.yml:5:21" {
		t.Errorf("got %s and %s", own, far)
	}
}
