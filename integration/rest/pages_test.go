package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
)

// TestSchedulePages checks that the schedules after each one are the rest of the list, which is in the order of their
// IDs.
func TestSchedulePages(t *testing.T) {
	t.Parallel()
	c := open(t)
	for n := range 3 {
		c.must(http.MethodPut, fmt.Sprintf("/api/projects?project=p%d&revision=r", n), archive(map[string]string{"s.dig": "schedule:\n  daily>: 07:00:00\n+a:\n  echo>: s\n"}))
	}
	ids := func(path string) []int {
		list := []int{}
		for _, s := range c.must(http.MethodGet, path, nil)["schedules"].([]any) {
			id, err := strconv.Atoi(s.(object)["id"].(string))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, id)
		}
		return list
	}
	all := ids("/api/schedules")
	if len(all) != 3 || !slices.IsSorted(all) {
		t.Fatalf("schedules: %v, want three in their order", all)
	}
	for i, id := range all {
		if rest := ids(fmt.Sprint("/api/schedules?last_id=", id)); !slices.Equal(rest, all[i+1:]) {
			t.Errorf("after %d: %v, want %v", id, rest, all[i+1:])
		}
	}
}
