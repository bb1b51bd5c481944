package host

import "zerodag/engine/param"

// Page collects the rows of a list until their trees (parameters, definitions) would exceed a number of bytes. It
// always accepts at least one row, so that reading page by page makes progress. A limited list may be shorter than the
// requested count without being complete: only an empty page marks the end.
type Page[T any] struct {
	Rows  []T
	Bytes int // 0 means no limit

	used int
}

// Add adds a row with its tree, and reports whether there was room for it. If there was not, the driver stops reading.
func (p *Page[T]) Add(row T, tree *param.Map) bool {
	if p.Bytes > 0 {
		p.used += param.Size(tree)
		if p.used > p.Bytes && len(p.Rows) > 0 {
			return false
		}
	}
	p.Rows = append(p.Rows, row)
	return true
}
