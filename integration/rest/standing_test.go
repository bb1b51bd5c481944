package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"zerodag/internal/httpapi"
	"zerodag/internal/httpapi/access"
)

// TestStandingInLists checks that lists distinguish a success with ignored errors from other successes, and a paused
// attempt from a running one.
func TestStandingInLists(t *testing.T) {
	t.Parallel()
	server := serve(t, httpapi.Options{Auth: access.Auth{Required: true}})
	c := caller{server, t, server.token(t, 1, "admin")}
	c.push(archive(map[string]string{
		"yellow.dig": "zerodag: 1\n+a:\n  fail>: x\n  _ignore_error: true\n",
		"green.dig":  "zerodag: 1\n+a:\n  echo>: x\n",
		"red.dig":    "zerodag: 1\n+a:\n  fail>: x\n  _ignore_error: true\n+b:\n  fail>: y\n",
		"slow.dig":   "+a:\n  wait>: 600s\n",
	}))
	want := map[string]string{"yellow": "success true ignored", "green": "success <nil> <nil>", "red": "error <nil> <nil>", "slow": "running <nil> paused"}
	for name := range want {
		id := c.start("p", name, "2024-01-02T00:00:00Z")
		if name == "slow" {
			c.must(http.MethodPost, "/api/attempts/"+id+"/pause", `{}`)
			continue
		}
		c.ended(id)
	}
	got := map[string]string{}
	for range 500 {
		clear(got)
		for _, x := range c.must(http.MethodGet, "/api/attempts", nil)["attempts"].([]any) {
			a := x.(object)
			got[a["workflow"].(object)["name"].(string)] = fmt.Sprint(a["status"], " ", a["ignoredErrors"])
		}
		for _, x := range c.must(http.MethodGet, "/api/x/sessions", nil)["sessions"].([]any) {
			b := x.(object)
			got[b["workflow"].(object)["name"].(string)] += fmt.Sprint(" ", b["standing"])
		}
		if fmt.Sprint(got) == fmt.Sprint(want) {
			break
		}
		time.Sleep(10 * time.Millisecond) // until the executor has handled the pause
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the lists have %v, want %v", got, want)
	}
	for _, x := range c.must(http.MethodGet, "/api/sessions", nil)["sessions"].([]any) {
		s := x.(object)
		if flag := s["lastAttempt"].(object)["ignoredErrors"]; (flag == true) != (s["workflow"].(object)["name"] == "yellow") {
			t.Errorf("%v", s)
		}
	}
}
