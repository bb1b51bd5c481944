// Package manual searches the documentation: it returns the page, the operator, or the section or table rows for a
// key, a variable or a setting.
//
// The pages are embedded in the program. `zerodag docs` prints the results.
package manual
