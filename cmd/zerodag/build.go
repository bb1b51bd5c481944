package main

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// linked is the version that the build was given (-ldflags "-X main.linked=1.2.3"), from the tag; "" is none.
var linked string //nolint:gochecknoglobals // the linker writes it

// untagged is the version of what was built from a commit without a tag.
const untagged = "0.1.0"

// version is what this program calls itself.
var version = sync.OnceValue(func() string { return versionOf(linked, debug.ReadBuildInfo) })

// versionOf is what the build was given or, where `go install` built a release, what that wrote down.
func versionOf(linked string, read func() (*debug.BuildInfo, bool)) string {
	if linked != "" {
		return linked
	}
	info, ok := read()
	if !ok || !isRelease(info.Main.Version) {
		return untagged
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// isRelease says whether the version of a module is a tag: pseudo-versions of commits end in a time and a hash,
// and what was changed since a commit in "+dirty".
func isRelease(module string) bool {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?$`).MatchString(module)
}
