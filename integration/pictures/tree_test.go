package pictures

import (
	"fmt"
	"strings"
	"testing"
)

// held returns a command that prints something and then waits for the gate.
func held(say string) string { return fmt.Sprintf("sh>: echo %s; sh wait.sh\n", say) }

// inTurn returns the n-th of several commands, each of which prints something after the previous one has, so that every
// picture has their lines in the same order.
func inTurn(n int, say string) string {
	before := ""
	if n > 0 {
		before = fmt.Sprintf(": <GATE%d; ", n)
	}
	return fmt.Sprintf("sh>: '%secho %s; : >GATE%d; sh wait.sh'\n", before, say, n+1)
}

const three = `timezone: UTC

+extract:
  echo>: 1204 orders of ${session_date}

+transform:
  sh>: echo 1204 rows read; echo 1198 rows kept

+load:
  sh>: %s
`

// TestThree checks that a small run makes a small picture, whether it succeeds or fails.
func TestThree(t *testing.T) {
	inBoth(t, func(t *testing.T, size Size) {
		f := newFolder(t, "nightly", fmt.Sprintf(three, "echo 1198 rows written"))
		ends(t, f.run(t, size, "run", "nightly.dig", "--session", "2026-03-01"), "three-"+size.String(), 0)
		f = newFolder(t, "nightly", fmt.Sprintf(three, "echo connecting to warehouse; echo 'connection refused by warehouse:5432' >&2; exit 2"))
		ends(t, f.run(t, size, "run", "nightly.dig", "--session", "2026-03-01"), "three-failed-"+size.String(), 1)
		ends(t, f.run(t, size, "run", "nightly.dig", "--session", "2026-03-01", "--dry-run"), "three-dry-run-"+size.String(), 0)
	})
}

// mass returns a workflow of n parallel tasks, some of which wait for the gate before one fails, with one task before
// and nine tasks after them.
func mass(n int) string {
	const held = 6
	var b strings.Builder
	b.WriteString("timezone: UTC\n\n+list:\n  echo>: the regions are listed\n\n+load:\n  _parallel: true\n\n")
	for i := range n {
		what := "param_set>:\n    loaded: yes\n"
		switch {
		case i < held:
			what = inTurn(i, fmt.Sprintf("%d rows", 1000+37*i))
		case i == n/2:
			what = fmt.Sprintf("sh>: ': <GATE%d; echo reading; echo no such table: orders_eu >&2; exit 1'\n", held)
		}
		fmt.Fprintf(&b, "  +part_%04d:\n    %s", i, what)
	}
	b.WriteString("\n+report:\n")
	for _, name := range []string{"daily", "weekly", "monthly"} {
		fmt.Fprintf(&b, "  +%s:\n    +collect: {echo>: collected}\n    +draw: {echo>: drawn}\n    +send: {echo>: sent}\n", name)
	}
	return b.String()
}

// TestMasses checks that with many tasks, the totals, the failure and the running tasks are on the screen, both while
// they run and when they have ended.
func TestMasses(t *testing.T) {
	inBoth(t, func(t *testing.T, size Size) {
		for _, one := range []struct {
			name  string
			tasks int
		}{{"fifty", 40}, {"thousand", 980}} {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				f := newFolder(t, "nightly", mass(one.tasks))
				s := f.run(t, size, "run", "nightly.dig", "--session", "2026-03-01")
				matches(t, s, one.name+"-running-"+size.String(), "6 running, 1 failed")
				f.release(t)
				ends(t, s, one.name+"-failed-"+size.String(), 1)
			})
		}
	})
}

// TestLongNames checks that names longer than a line, deep trees and wide characters do not break a picture.
func TestLongNames(t *testing.T) {
	const long = "the_name_of_this_task_says_everything_that_anybody_could_ever_want_to_know_about_it_and_then_goes_on_for_longer_than_the_widest_terminal_is"
	text := fmt.Sprintf(`timezone: UTC
+%[1]s:
  +%[1]s:
    +first:
      echo>: 昨日の注文を読み込みました。全部で千二百四件です。詳しくは報告書をご覧ください。担当者に知らせました。
    +%[1]s:
      echo>: %[2]s
+deep:
  +a: {+b: {+c: {+d: {+e: {+f: {+g: {+h: {+i: {+j: {+k: {+l: {+m: {echo>: deep}}}}}}}}}}}}}
+total_%[1]s:
  %[3]s`, long, strings.Repeat("a line that is longer than the terminal is wide, ", 4), held("処理しています"))
	inBoth(t, func(t *testing.T, size Size) {
		f := newFolder(t, "nightly", text)
		s := f.run(t, size, "run", "nightly.dig", "--session", "2026-03-01")
		matches(t, s, "long-running-"+size.String(), "処理")
		f.release(t)
		ends(t, s, "long-"+size.String(), 0)
	})
}

// TestInterrupted checks that a run that its user interrupts shows how to resume.
func TestInterrupted(t *testing.T) {
	inBoth(t, func(t *testing.T, size Size) {
		f := newFolder(t, "nightly", fmt.Sprintf(three, strings.TrimPrefix(strings.TrimSpace(held("writing")), "sh>: ")))
		s := f.run(t, size, "run", "nightly.dig", "--session", "2026-03-01")
		if text, err := s.Until(func(text string) bool { return strings.Contains(text, "writing") }); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		s.Type("\x03")
		ends(t, s, "interrupted-"+size.String(), 1)
	})
}
