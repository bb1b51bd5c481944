package main

import (
	"runtime/debug"
	"testing"
)

// TestVersionOf checks that a build reports the version that was passed to it, or else the tag that `go install` built,
// and never reports a commit as a release.
func TestVersionOf(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ linked, module, want string }{
		{"1.2.3", "v9.9.9", "1.2.3"},
		{"1.2.3-4-gabc1234", "(devel)", "1.2.3-4-gabc1234"},
		{"", "v0.2.0", "0.2.0"},
		{"", "v0.2.0-rc.1", "0.2.0-rc.1"},
		{"", "(devel)", untagged},
		{"", "v0.0.0-20261123034426-abcdef123456", untagged},
		{"", "v0.2.1-0.20261123034426-abcdef123456", untagged},
		{"", "v0.2.0+dirty", untagged},
		{"", "", untagged},
	} {
		got := versionOf(x.linked, func() (*debug.BuildInfo, bool) {
			return &debug.BuildInfo{Main: debug.Module{Version: x.module}}, true
		})
		if got != x.want {
			t.Errorf("linked %q, module %q: %s, want %s", x.linked, x.module, got, x.want)
		}
	}
	if got := versionOf("", func() (*debug.BuildInfo, bool) { return nil, false }); got != untagged {
		t.Errorf("without a word of the build: %s", got)
	}
}
