package signin

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzLocalPath proves that a browser that is redirected to a path stays on the server, and does not call its
// endpoints.
func FuzzLocalPath(f *testing.F) {
	for _, text := range []string{"/a?b=c#d", "//evil", `/\evil`, "https://evil", "/%2f/evil", "/.//evil", "/..//evil", "/\t/evil", "/api/x", "/%61pi/x", "/./api/x", "/a/../api/backup"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := localPath(text)
		base, _ := url.Parse("https://here.example/x/session/oidc/callback")
		to, err := base.Parse(path)
		if err != nil || to.Host != "here.example" || to.Scheme != "https" || to.User != nil || strings.HasPrefix(path, "//") || strings.HasPrefix(path, `/\`) || strings.ContainsAny(path, "\t\r\n") {
			t.Errorf("%q leads to %q: %v %v", text, path, to, err)
		}
		if to != nil && (strings.HasPrefix(to.Path, "/api/") || strings.HasPrefix(to.Path, "//")) {
			t.Errorf("%q leads to the API, or to another host: %q", text, path)
		}
	})
}
