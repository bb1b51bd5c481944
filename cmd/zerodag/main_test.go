package main

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"zerodag/engine/expr/assets"
	"zerodag/internal/evaluators/evaluator"
)

func TestMain(m *testing.M) {
	evaluator.Serve()
	testscript.Main(m, map[string]func(){"zerodag": main, "digdag": main})
}

// TestScripts runs the commands of each script as a user would type them, and checks the output.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"serve": serve, "fakedigdag": fakeDigdag},
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("SOON", time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("PATH", os.Getenv("PATH")+":"+e.Getenv("PATH"))
			busy, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() { busy.Close() })
			_, port, err := net.SplitHostPort(busy.Addr().String())
			e.Setenv("BUSY", port)
			return err
		},
		Condition: func(name string) (bool, error) {
			if name == "moment" {
				return assets.Moment() != "", nil
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
	})
}
