package table

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/internal/env"
)

// List reads the ids in a sharded index in order: it queries all shards at once, merges the results, and queries a
// shard again only when its ids have run out. Rows are read from the table.
type List struct {
	table      *Table
	index      env.Index
	span       Span
	descending bool
	page       int // how many ids are requested from a shard at once
	shards     []*shard
	Reached    int64 // the sort key of the last id that was returned
}

type shard struct {
	partition string
	found     []Item // not returned yet
	next      Item   // where to continue
	done      bool
}

// Span is a range of the sort key of an index, both ends included.
type Span struct{ From, To int64 }

// Above returns the range above an id, without the id.
func Above(id int64) Span { return Span{id + 1, math.MaxInt64} }

// Below returns the range below an id, without the id; 0 means no limit.
func Below(id int64) Span {
	if id == 0 {
		return Span{0, math.MaxInt64}
	}
	return Span{0, id - 1}
}

// listPage is how many keys are read at once if there is no limit.
const listPage = 1000

// batchesAtOnce is how many batches of rows are read concurrently.
const batchesAtOnce = 8

// ListOf begins a list in partitions of an index.
func (t *Table) ListOf(index env.Index, s Span, descending bool, count int, partitions []string) *List {
	l := &List{table: t, index: index, span: s, descending: descending, page: listPage}
	if count > 0 {
		l.page = min(count, listPage)
	}
	for _, p := range partitions {
		l.shards = append(l.shards, &shard{partition: p})
	}
	return l
}

// ByShard returns the names of a list's partitions.
func ByShard(name func(shard int64) string) []string {
	var out []string
	for s := range int64(Shards) {
		out = append(out, name(s))
	}
	return out
}

// fill queries the shards that have nothing left, concurrently.
func (l *List) fill(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, len(l.shards))
	for i, s := range l.shards {
		if len(s.found) == 0 && !s.done {
			all.Go(func() { errs[i] = l.ask(ctx, s) })
		}
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *List) ask(ctx context.Context, s *shard) error {
	in := l.table.input(Query{Index: l.index.Name, Descending: l.descending, Where: Where{
		Text: fmt.Sprintf("#%s = :p AND #%s BETWEEN :from AND :to", l.index.Partition, l.index.Sort), Names: []string{l.index.Partition, l.index.Sort},
		Values: Item{":p": Text(s.partition), ":from": Number(l.span.From), ":to": Number(l.span.To)}}})
	in.Limit, in.ExclusiveStartKey = aws.Int32(int32(l.page)), s.next
	out, err := l.table.client.Query(ctx, in)
	if err != nil {
		return translate("query "+l.index.Name, err)
	}
	for _, it := range out.Items {
		s.found = append(s.found, it)
	}
	s.next, s.done = out.LastEvaluatedKey, out.LastEvaluatedKey == nil
	return nil
}

// Next returns up to n keys of rows in the order of the index; none at the end.
func (l *List) Next(ctx context.Context, n int) ([]Key, error) {
	var keys []Key
	for len(keys) < n {
		if err := l.fill(ctx); err != nil {
			return nil, err
		}
		if !l.full() {
			continue // an empty page is not necessarily the last one
		}
		first := l.first()
		if first == nil {
			break
		}
		keys = append(keys, KeyOf(first.found[0]))
		l.Reached = first.found[0].Num(l.index.Sort)
		first.found = first.found[1:]
	}
	return keys, nil
}

// full reports whether every shard either has an id in memory or is exhausted.
func (l *List) full() bool {
	return !slices.ContainsFunc(l.shards, func(s *shard) bool { return len(s.found) == 0 && !s.done })
}

// first returns the shard whose next id comes first.
func (l *List) first() *shard {
	var best *shard
	for _, s := range l.shards {
		if len(s.found) > 0 && (best == nil || l.before(s.found[0], best.found[0])) {
			best = s
		}
	}
	return best
}

func (l *List) before(a, b Item) bool {
	if l.descending {
		return a.Num(l.index.Sort) > b.Num(l.index.Sort)
	}
	return a.Num(l.index.Sort) < b.Num(l.index.Sort)
}

// Peek returns the first result of Next as it is in the index; nil for an empty list.
func (l *List) Peek(ctx context.Context) (Item, error) {
	if err := l.fill(ctx); err != nil {
		return nil, err
	}
	if s := l.first(); s != nil {
		return s.found[0], nil
	}
	return nil, nil
}

// Rows reads pages of rows and passes them to f in the order of the list, until f returns enough. It omits rows that
// were deleted in the meantime.
func (l *List) Rows(ctx context.Context, f func([]Item) (enough bool, err error)) error {
	for {
		keys, err := l.Next(ctx, min(l.page, batchesAtOnce*maxBatchGet))
		if err != nil || len(keys) == 0 {
			return err
		}
		found, err := l.table.GetAll(ctx, keys)
		if err != nil {
			return err
		}
		var rows []Item
		for _, k := range keys {
			if it := found[k]; it != nil {
				rows = append(rows, it)
			}
		}
		if enough, err := f(rows); enough || err != nil {
			return err
		}
	}
}

// SortByID sorts a list by id.
func SortByID[T any](list []T, id func(T) int64, descending bool) {
	slices.SortFunc(list, func(a, b T) int {
		if descending {
			a, b = b, a
		}
		return cmp.Compare(id(a), id(b))
	})
}

// Shards is the number of index partitions over which a list is spread, because one partition accepts only 1,000 writes
// per second.
const Shards = 8

// ShardOf returns a row's shard.
func ShardOf(id int64) int64 { return id % Shards }
