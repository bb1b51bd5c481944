package scope

import (
	"cmp"
	"slices"
)

// first returns at most the first n elements; 0 means all.
func first[T any](list []T, n int) []T {
	if n > 0 && len(list) > n {
		return list[:n]
	}
	return list
}

// part reads the next rows of one project in the order of the whole list; last is the id of the last row read so far, 0
// for none.
type part[T any] func(last int64) ([]T, error)

// merging describes the list that is merged from parts.
type merging[T any] struct {
	count      int // 0 means all
	bytes      int // see host.Page; 0 means no limit
	descending bool
	id         func(T) int64
	size       func(T) int // the size of a row's tree; nil without a limit in bytes
}

// merge returns the beginning of the list of all rows. A row is included only if every part was read at least to the
// row's place or to the part's end: otherwise a row that was not read yet would be skipped by the caller's next page.
func merge[T any](parts []part[T], m merging[T]) ([]T, error) {
	var all []T
	for _, next := range parts {
		list, err := read(next, m)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b T) int {
		if m.descending {
			a, b = b, a
		}
		return cmp.Compare(m.id(a), m.id(b))
	})
	all = first(all, m.count)
	if m.bytes == 0 {
		return all, nil
	}
	used := 0
	for i, row := range all {
		if used += m.size(row); used > m.bytes && i > 0 {
			return all[:i], nil
		}
	}
	return all, nil
}

// read reads a part to its end, or until its rows alone fill the merged list.
func read[T any](next part[T], m merging[T]) (list []T, err error) {
	used, last := 0, int64(0)
	for {
		page, err := next(last)
		if err != nil || len(page) == 0 {
			return list, err
		}
		list, last = append(list, page...), m.id(page[len(page)-1])
		if m.bytes == 0 { // then a short page is the last one
			return list, nil
		}
		for _, row := range page {
			used += m.size(row)
		}
		if m.count > 0 && len(list) >= m.count || used > m.bytes {
			return list, nil
		}
	}
}
