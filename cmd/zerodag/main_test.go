package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"zerodag/engine/expr/assets"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"zerodag": main})
}

// TestScripts runs what a user types, script by script, and looks at what is shown.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"serve": serve},
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", os.Getenv("PATH")+":"+e.Getenv("PATH"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "moment" {
				return assets.Moment() != "", nil
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
	})
}
