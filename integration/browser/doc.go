// Package browser drives the web console as people do: a real browser, the program as it is built, and example
// projects that it has run. What the tests do is written beside the page, in ui/e2e.
package browser
