package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAllRevisions proves that all pages are read, although the API does not show the ids of revisions, which projects
// share.
func TestAllRevisions(t *testing.T) {
	t.Parallel()
	ids := []int{}
	for id := range 1000 {
		if id%3 == 1 && id < 700 { // 233 revisions
			ids = append(ids, id)
		}
	}
	c := serve(t, Options{}, func(rw http.ResponseWriter, r *http.Request) {
		last := 1 << 31
		fmt.Sscan(r.FormValue("last_id"), &last)
		var page []string
		for i := len(ids) - 1; i >= 0 && len(page) < pageSize; i-- {
			if ids[i] < last {
				page = append(page, fmt.Sprintf(`{"revision":"r%d"}`, ids[i]))
			}
		}
		fmt.Fprintf(rw, `{"revisions":[%s]}`, strings.Join(page, ","))
	})
	all, err := c.AllRevisions(t.Context(), "1")
	if err != nil || len(all) != len(ids) {
		t.Fatalf("%d of %d revisions, %v", len(all), len(ids), err)
	}
	for i, r := range all {
		if want := fmt.Sprintf("r%d", ids[len(ids)-1-i]); r.Revision != want {
			t.Fatalf("revision %d is %s, want %s", i, r.Revision, want)
		}
	}
}
