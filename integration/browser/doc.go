// Package browser drives the web console like a user: with a real browser, the built program, and example projects that
// it has run. The tests themselves are next to the page, in ui/e2e.
package browser
