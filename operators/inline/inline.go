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

// Operators returns all built-in operators without I/O.
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

// Registry returns a registry of only these operators: a host that uses it leaves every other task to an agent.
func Registry() operators.Registry { return operators.NewRegistry(Operators()...) }
