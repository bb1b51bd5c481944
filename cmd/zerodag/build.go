package main

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
)

// linked is the version set by the build (-ldflags "-X main.linked=1.2.3"), from the tag; "" for none.
var linked string //nolint:gochecknoglobals // the linker writes it

// untagged is the version of a build from a commit without a tag.
const untagged = "0.1.0"

// version returns the version of this program.
var version = sync.OnceValue(func() string { return versionOf(linked, debug.ReadBuildInfo) })

// versionOf returns the version set by the build or, if `go install` built a release, the version that it recorded.
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

// isRelease reports whether the version of a module is a tag: pseudo-versions of commits end in a time and a hash, and
// modified ones in "+dirty".
func isRelease(module string) bool {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?$`).MatchString(module)
}
