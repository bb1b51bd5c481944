// Package all lists the built-in operators. Programs that run tasks call it; it must hold
// nothing but the list.
package all

import (
	"zerodag/operators"
	"zerodag/operators/call"
	"zerodag/operators/echo"
	"zerodag/operators/fail"
	"zerodag/operators/foreach"
	"zerodag/operators/forrange"
	"zerodag/operators/ifelse"
	"zerodag/operators/loop"
	"zerodag/operators/py"
	"zerodag/operators/sh"
	"zerodag/operators/wait"
)

// Registry has every built-in operator.
func Registry() operators.Registry {
	return operators.NewRegistry(
		call.Operator(),
		echo.Operator(),
		fail.Operator(),
		foreach.Operator(),
		forrange.Operator(),
		ifelse.Operator(),
		loop.Operator(),
		py.Operator(),
		sh.Operator(),
		wait.Operator(),
	)
}
