package remedy

import (
	"slices"
	"strings"
	"testing"
)

// TestNear checks which candidate is suggested for a word: one that differs by a letter, by its case or by the order of
// its letters, or that begins with the word, but none that is only similar.
func TestNear(t *testing.T) {
	t.Parallel()
	commands := []string{"run", "retry", "push", "pool", "schedules", "sessions", "status", "secrets"}
	for word, want := range map[string]string{
		"rnu": "run", "RUN": "run", "retri": "retry", "pushh": "push", "sched": "schedules", "session": "sessions", "staus": "status",
		"deploy": "", "x": "", "": "", "zzzzzzzz": "", "\x1b[2J": "",
	} {
		if got := Near(word, commands); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := Near("run", nil); got != "" {
		t.Errorf("of nothing %q is near", got)
	}
}

// FuzzNear proves that only candidates are suggested, whatever a user types.
func FuzzNear(f *testing.F) {
	f.Add("pus", "push pool")
	f.Add("\xff", "\xfe a")
	f.Fuzz(func(t *testing.T, word, list string) {
		candidates := strings.Fields(list)
		if got := Near(word, candidates); got != "" && !slices.Contains(candidates, got) {
			t.Errorf("%q of %q: %q", word, candidates, got)
		}
	})
}

// TestMeant checks what is suggested for unknown names, including a workflow given by the name of its file and a task
// given by the last part of its name, and that the list of names stays short.
func TestMeant(t *testing.T) {
	t.Parallel()
	const list = "`zerodag workflows` lists the workflows"
	names := []string{"main", "daily/load"}
	for name, want := range map[string]string{
		"mian": "did you mean main? " + list, "main.dig": "on a server, use the name of the workflow, not its file: main",
		"flows/main.dig": "on a server, use the name of the workflow, not its file: main", "other.dig": list, "quite another": list,
	} {
		if got := MeantWorkflow(name, names, list); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	tasks := []string{"+w", "+w+load", "+w+load+one", "+w^sub+two"}
	for pattern, want := range map[string]string{
		"lod": "did you mean +load? ", "load": "did you mean +load? ", "+w+on": "did you mean +one? ", "2026-01-02": "write --session with two dashes: --session 2026-01-01; ",
		"ession": "write --session with two dashes: --session 2026-01-01; ", "a b=c": "pass parameters with -p: -p 'a b=c'; ",
		"x.dig": "the second argument is a task, not a file; ", "+quite+another": "the tasks are +load, +one, +two; ",
	} {
		if got := MeantTask(pattern, tasks); got != want {
			t.Errorf("%q: %q, want %q", pattern, got, want)
		}
	}
	var many []string
	for c := 'a'; c <= 'z'; c++ {
		many = append(many, "+w+"+strings.Repeat(string(c), 8))
	}
	if got := MeantTask("+0", many); !strings.HasPrefix(got, "some tasks are +aaaaaaaa, ") || strings.Count(got, "+") != mostMeant {
		t.Errorf("of many tasks: %q", got)
	}
	if got := MeantTask("+0", []string{"+w"}); got != "" {
		t.Errorf("of a workflow without tasks: %q", got)
	}
}

// TestElsewhere proves that words from other programs lead to commands and flags, and that a flag without an equivalent
// has advice only for the commands that it concerns.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"trigger": "start", "lint": "check", "logs": "log", "ls": "list", "nothing": ""} {
		if got := append(Commands(name), "")[0]; got != want {
			t.Errorf("the command %s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"env": "param", "url": "endpoint", "json": "output", "nothing": ""} {
		if got := Flag(name); got != want {
			t.Errorf("the flag %s: %q, want %q", name, got, want)
		}
	}
	for _, x := range []struct {
		command, flag string
		has           bool
	}{{"run", "task", true}, {"start", "task", true}, {"push", "task", false}, {"run", "resume", true}, {"start", "resume", false}, {"run", "nothing", false}} {
		if got := FlagAdvice(x.command, x.flag); (got != "") != x.has {
			t.Errorf("%s --%s: %q", x.command, x.flag, got)
		}
	}
}
