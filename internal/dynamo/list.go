package dynamo

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

// list reads the ids of a sharded index in their order: it asks all shards at once, merges,
// and asks one again only when its ids have run out. Rows are read from the table.
type list struct {
	db         *DB
	index      env.Index
	span       span
	descending bool
	page       int // ids asked of a shard at once
	shards     []*shard
	reached    int64 // the sort key of the last id that was handed out
}

type shard struct {
	partition string
	found     []item // not handed out yet
	next      item   // where to go on
	done      bool
}

// span bounds the sort key of an index, both ends included.
type span struct{ from, to int64 }

// above and below leave an id out; 0 is no bound.
func above(id int64) span { return span{id + 1, math.MaxInt64} }

func below(id int64) span {
	if id == 0 {
		return span{0, math.MaxInt64}
	}
	return span{0, id - 1}
}

// listPage is how many keys are read at once when there is no limit.
const listPage = 1000

// batchesAtOnce is how many batches of rows are read side by side.
const batchesAtOnce = 8

// listOf begins a list in partitions of an index.
func (db *DB) listOf(index env.Index, s span, descending bool, count int, partitions []string) *list {
	l := &list{db: db, index: index, span: s, descending: descending, page: listPage}
	if count > 0 {
		l.page = min(count, listPage)
	}
	for _, p := range partitions {
		l.shards = append(l.shards, &shard{partition: p})
	}
	return l
}

// byShard names the partitions of a list.
func byShard(name func(shard int64) string) []string {
	var out []string
	for s := range int64(shards) {
		out = append(out, name(s))
	}
	return out
}

// fill asks the shards that have nothing left, side by side.
func (l *list) fill(ctx context.Context) error {
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

func (l *list) ask(ctx context.Context, s *shard) error {
	in := l.db.input(query{index: l.index.Name, descending: l.descending, where: where{
		text: fmt.Sprintf("#%s = :p AND #%s BETWEEN :from AND :to", l.index.Partition, l.index.Sort), names: []string{l.index.Partition, l.index.Sort},
		values: item{":p": text(s.partition), ":from": number(l.span.from), ":to": number(l.span.to)}}})
	in.Limit, in.ExclusiveStartKey = aws.Int32(int32(l.page)), s.next
	out, err := l.db.client.Query(ctx, in)
	if err != nil {
		return translate("query "+l.index.Name, err)
	}
	for _, it := range out.Items {
		s.found = append(s.found, it)
	}
	s.next, s.done = out.LastEvaluatedKey, out.LastEvaluatedKey == nil
	return nil
}

// next returns up to n keys of rows in the order of the index; none at the end.
func (l *list) next(ctx context.Context, n int) ([]key, error) {
	var keys []key
	for len(keys) < n {
		if err := l.fill(ctx); err != nil {
			return nil, err
		}
		if !l.full() {
			continue // a page may be empty, and not the last one
		}
		first := l.first()
		if first == nil {
			break
		}
		keys = append(keys, keyOf(first.found[0]))
		l.reached = first.found[0].num(l.index.Sort)
		first.found = first.found[1:]
	}
	return keys, nil
}

// full says whether every shard has an id at hand, or no more.
func (l *list) full() bool {
	return !slices.ContainsFunc(l.shards, func(s *shard) bool { return len(s.found) == 0 && !s.done })
}

// first is the shard whose next id comes first.
func (l *list) first() *shard {
	var best *shard
	for _, s := range l.shards {
		if len(s.found) > 0 && (best == nil || l.before(s.found[0], best.found[0])) {
			best = s
		}
	}
	return best
}

func (l *list) before(a, b item) bool {
	if l.descending {
		return a.num(l.index.Sort) > b.num(l.index.Sort)
	}
	return a.num(l.index.Sort) < b.num(l.index.Sort)
}

// rows reads pages of rows until f, which gets them in the order of the list, says that it
// is content. Rows that went meanwhile are left out.
func (l *list) rows(ctx context.Context, f func([]item) (enough bool, err error)) error {
	for {
		keys, err := l.next(ctx, min(l.page, batchesAtOnce*maxBatchGet))
		if err != nil || len(keys) == 0 {
			return err
		}
		found, err := l.db.getAll(ctx, keys)
		if err != nil {
			return err
		}
		var rows []item
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

// sortByID puts things in the order of their ids.
func sortByID[T any](list []T, id func(T) int64, descending bool) {
	slices.SortFunc(list, func(a, b T) int {
		if descending {
			a, b = b, a
		}
		return cmp.Compare(id(a), id(b))
	})
}
