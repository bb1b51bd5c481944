package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestCauseOfAGroup checks that the cause of a failure can also be a group, or a whole file, that has timed out, with
// the last output below it.
func TestCauseOfAGroup(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 1, "admin")}
	const slow = "+say:\n    echo>: working\n  +hang:\n    wait>: 600s\n"
	c.push(archive(map[string]string{
		"group.dig": "zerodag: 1\n+g:\n  _timeout: 1s\n  " + slow + "  _error:\n    +sorry:\n      echo>: sorry\n",
		"whole.dig": "zerodag: 1\n_timeout: 1s\n+g:\n  " + slow,
	}))
	for name, task := range map[string]string{"group": "+group+g", "whole": "+whole"} {
		id := c.start("p", name, "2024-01-02T00:00:00Z")
		c.ended(id)
		cause := c.must(http.MethodGet, "/api/x/attempts/"+id+"/cause", nil)
		if got, want := fmt.Sprint(cause["task"], cause["message"], cause["lines"]), task+"timed out after 1s[working]"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
