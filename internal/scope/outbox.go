package scope

import (
	"context"

	"zerodag/internal/host"
)

// Outbox returns the notices that a caller with this scope sees: only notices about its projects.
func (s Scope) Outbox(o host.Outbox) host.Outbox { return outbox{o, s} }

type (
	noticeStore = host.Outbox
	outbox      struct {
		noticeStore
		scope Scope
	}
)

// Notices keeps reading until the page is full, because most notices of the site may be about other projects.
func (o outbox) Notices(ctx context.Context, q host.NoticeQuery) (list []host.StoredNotice, err error) {
	for {
		page, err := o.noticeStore.Notices(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, n := range page {
			if o.scope.Has(n.Project) {
				list = append(list, n)
			}
		}
		if q.Count == 0 || len(page) < q.Count || len(list) >= q.Count {
			return first(list, q.Count), nil
		}
		q.After = page[len(page)-1].ID
	}
}
