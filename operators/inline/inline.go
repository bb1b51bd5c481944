// Package inline lists the built-in operators without I/O, which a host runs itself between two steps of the engine.
//
// Package all also has them; a program that runs no others links only this list. It must contain nothing but the list.
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

// Operators returns all of them.
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

// Registry has only these operators: for a host with it, every other task is one for an agent.
func Registry() operators.Registry { return operators.NewRegistry(Operators()...) }
