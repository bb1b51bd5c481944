package scope

import (
	"slices"
	"testing"
)

// TestMerge proves that reading page by page with limits in rows and bytes returns every row of all projects once, in
// order, whatever part of a page their stores return.
func TestMerge(t *testing.T) {
	t.Parallel()
	stored := [][]int64{{1, 4, 5, 9, 20}, {2, 3, 21, 22, 23, 24, 25}, {}, {10}}
	var all []int64
	for _, list := range stored {
		all = append(all, list...)
	}
	slices.Sort(all)
	for _, descending := range []bool{false, true} {
		want := slices.Clone(all)
		if descending {
			slices.Reverse(want)
		}
		for _, count := range []int{0, 1, 3, 100} {
			for _, bytes := range []int{0, 1, 25, 1000} {
				for _, short := range []int{1, 2, 100} { // how many rows a store returns at most if bytes are limited
					if got := paged(t, stored, descending, count, bytes, short); !slices.Equal(got, want) {
						t.Errorf("descending %t, count %d, bytes %d, short %d: %v, want %v", descending, count, bytes, short, got, want)
					}
				}
			}
		}
	}
}

// paged reads a list page by page until a page is empty.
func paged(t *testing.T, stored [][]int64, descending bool, count, bytes, short int) (got []int64) {
	t.Helper()
	for after := int64(0); ; {
		var parts []part[int64]
		for _, list := range stored {
			parts = append(parts, func(last int64) ([]int64, error) {
				if last == 0 {
					last = after
				}
				return rows(list, descending, last, count, bytes, short), nil
			})
		}
		page, err := merge(parts, merging[int64]{count: count, bytes: bytes, descending: descending,
			id: func(n int64) int64 { return n }, size: func(int64) int { return 10 }})
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, page...); len(page) == 0 || len(got) > 100 {
			return got
		}
		after = page[len(page)-1]
	}
}

// rows returns what a store returns for one project after a row.
func rows(list []int64, descending bool, last int64, count, bytes, short int) (page []int64) {
	list = slices.Clone(list)
	if descending {
		slices.Reverse(list)
	}
	for _, n := range list {
		if last == 0 || !descending && n > last || descending && n < last {
			page = append(page, n)
		}
	}
	page = first(page, count)
	if bytes > 0 {
		page = first(page, short)
	}
	return page
}
