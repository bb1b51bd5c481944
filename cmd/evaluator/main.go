// Command evaluator evaluates the expressions of functions on AWS, which start it: it is deployed next to their
// program, so that they do not need the JavaScript engine. It must do nothing else.
package main

import (
	"os"

	"zerodag/internal/evaluators/evaluator"
)

func main() {
	evaluator.Serve()
	os.Stderr.WriteString("error: this program evaluates expressions for a zerodag function, which starts it: do not run it manually\n")
	os.Exit(2)
}
