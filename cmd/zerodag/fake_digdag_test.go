package main

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// fakeDigdag is a script command: `fakedigdag NAME FILE` starts a server that responds as a Digdag server does (see
// integration/rest/rest_shapes.json for recorded answers), and sets $NAME to its address. It reads the lists
// "projects", "workflows", "attempts" and "schedules" from the file at each request, so that a script can replace the
// file. Its pages have two attempts, and it responds only to GET, because an import only reads.
func fakeDigdag(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: fakedigdag NAME FILE")
	}
	file := ts.MkAbs(args[1])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(file)
		var all map[string][]map[string]any
		if err == nil {
			err = json.Unmarshal(text, &all)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answer, status := digdagAnswer(r, all)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer) // the client reports a missing response
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

func digdagAnswer(r *http.Request, all map[string][]map[string]any) (any, int) {
	number := func(x map[string]any) int {
		text, _ := x["id"].(string)
		n, _ := strconv.Atoi(text)
		return n
	}
	q := r.URL.Query()
	last, _ := strconv.Atoi(q.Get("last_id"))
	after := func(list []map[string]any) []map[string]any {
		return slices.DeleteFunc(list, func(x map[string]any) bool { return number(x) <= last })
	}
	if r.Method != http.MethodGet {
		return map[string]any{"message": "an import only reads", "status": 405}, http.StatusMethodNotAllowed
	}
	switch path := r.URL.Path; path {
	case "/api/projects":
		list := after(all["projects"])
		if name := q.Get("name"); name != "" {
			list = slices.DeleteFunc(list, func(x map[string]any) bool { return x["name"] != name })
		}
		return map[string]any{"projects": slices.Concat([]map[string]any{}, list)}, http.StatusOK
	case "/api/schedules":
		return map[string]any{"schedules": slices.Concat([]map[string]any{}, after(all["schedules"]))}, http.StatusOK
	case "/api/attempts":
		list := slices.DeleteFunc(all["attempts"], func(x map[string]any) bool {
			project, _ := x["project"].(map[string]any)
			return last != 0 && number(x) >= last || q.Has("project") && project["name"] != q.Get("project")
		})
		slices.SortFunc(list, func(a, b map[string]any) int { return cmp.Compare(number(b), number(a)) })
		return map[string]any{"attempts": slices.Concat([]map[string]any{}, list[:min(2, len(list))])}, http.StatusOK
	default:
		for _, x := range all["workflows"] {
			if path == "/api/workflows/"+strconv.Itoa(number(x)) {
				return x, http.StatusOK
			}
		}
		return map[string]any{"message": "Resource does not exist", "status": 404}, http.StatusNotFound
	}
}
