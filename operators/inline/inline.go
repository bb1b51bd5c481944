// Package inline lists the built-in operators without I/O, which a host runs itself between two
// steps of the engine.
//
// Package all has them too; a program that runs no others links this list alone. It must hold
// nothing but the list.
package inline

import (
	"zerodag/operators"
	"zerodag/operators/call"
	"zerodag/operators/echo"
	"zerodag/operators/fail"
	"zerodag/operators/foreach"
	"zerodag/operators/forrange"
	"zerodag/operators/ifelse"
	"zerodag/operators/loop"
	"zerodag/operators/switchcase"
)

// Operators are all of them.
func Operators() []operators.Operator {
	return []operators.Operator{
		call.Operator(),
		echo.Operator(),
		fail.Operator(),
		foreach.Operator(),
		forrange.Operator(),
		ifelse.Operator(),
		loop.Operator(),
		switchcase.Operator(),
	}
}

// Registry has them alone: to a host with it every other task is one for an agent.
func Registry() operators.Registry { return operators.NewRegistry(Operators()...) }
