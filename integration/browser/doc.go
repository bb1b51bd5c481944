// Package browser drives the web console as users do: a real browser, the program as it is built, and example projects
// that it has run. The tests themselves are with the page, in ui/e2e.
package browser
