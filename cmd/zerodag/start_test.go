package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestInitialisation limits the memory that packages allocate before main runs: every command, every evaluator and
// every idle server pays for it, whether it is used or not. The limits are in bytes, not in time, so that they are the
// same on every machine. All packages together took 7.7 MB, which was three quarters of a start, when AWS SDK modules
// built the descriptions of all their operations (go.mod says which versions do not).
func TestInitialisation(t *testing.T) {
	t.Parallel()
	const most, mostOfOne = 2_700_000, 200_000

	cmd := exec.Command(os.Args[0], "-test.run=^$") // #nosec G204 -- this test's own program
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	line := regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, \d+ allocs$`)
	total, packages := 0, 0
	for _, m := range line.FindAllStringSubmatch(string(out), -1) {
		bytes, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		packages++
		total += bytes
		if bytes > mostOfOne {
			t.Errorf("package %s makes %d bytes before main, more than %d: make them when they are first used, or pin a version of the module that does", m[1], bytes, mostOfOne)
		}
		if strings.HasPrefix(m[1], "zerodag/") && bytes > 20_000 {
			t.Errorf("package %s makes %d bytes before main: a regular expression or table that is used by few runs belongs into a sync.OnceValue", m[1], bytes)
		}
	}
	if packages < 50 {
		t.Fatalf("%d packages are traced, too few to be true:\n%s", packages, out)
	}
	if total > most {
		t.Errorf("packages make %d bytes before main, more than %d", total, most)
	}
	t.Logf("%d packages make %d bytes before main", packages, total)
}
