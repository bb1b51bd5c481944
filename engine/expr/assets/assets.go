// Package assets holds the JavaScript libraries that expressions may use, as `make assets` downloaded them from npm.
// The host passes them to expr; a build without them works, and expressions that need one report that it is missing.
package assets

import "embed"

//go:embed all:dist
var dist embed.FS

// Moment returns the source of moment.js, or "" if the build does not include it.
func Moment() string {
	text, err := dist.ReadFile("dist/moment.min.js")
	if err != nil {
		return ""
	}
	return string(text)
}
