package scope

import (
	"context"
	"slices"
	"testing"

	"zerodag/internal/host"
)

// notices is a store of notices with the ids 1 to 20; every third one is about the project "mine".
type notices struct{ host.Outbox }

func (notices) Notices(_ context.Context, q host.NoticeQuery) (list []host.StoredNotice, err error) {
	for id := q.After + 1; id <= 20 && (q.Count == 0 || len(list) < q.Count); id++ {
		list = append(list, host.StoredNotice{ID: id, Project: map[bool]string{true: "mine", false: "other"}[id%3 == 0]})
	}
	return list, nil
}

// TestOutbox proves that a caller sees only the notices about its projects, and that every page except the last is
// full.
func TestOutbox(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q    host.NoticeQuery
		want []int64
	}{
		{host.NoticeQuery{}, []int64{3, 6, 9, 12, 15, 18}},
		{host.NoticeQuery{Count: 2}, []int64{3, 6}},
		{host.NoticeQuery{Count: 2, After: 6}, []int64{9, 12}},
		{host.NoticeQuery{Count: 4, After: 12}, []int64{15, 18}},
		{host.NoticeQuery{Count: 4, After: 18}, nil},
	} {
		list, err := Scope{"mine"}.Outbox(notices{}).Notices(t.Context(), c.q)
		var got []int64
		for _, n := range list {
			got = append(got, n.ID)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v, want %v", c.q, got, err, c.want)
		}
	}
}
