package dynamo

import (
	"context"
	"errors"
	"maps"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// An entry in the audit log.
//
//	U#<site>   <id>   entry
const (
	aWho    = "wh"
	aAction = "ac"
	aTarget = "ta"
	aDetail = "de"

	aRefused     = "rf"
	aFromAddress = "ad"
	aWith        = "wi"
	aRequest     = "rq"
)

func auditKey(site, id int64) table.Key {
	return table.At("U#"+table.Decimal(site), table.Ordered(id))
}

// audits implements host.Audit.
type audits struct{ t *table.Table }

// Record adds an entry to the audit log.
func (db *audits) Record(ctx context.Context, e host.Record) error {
	it := table.Item{}
	it.SetNum(table.Site, e.Site)
	it.SetTime(aAt, e.At)
	it.SetStr(aWho, e.Who)
	it.SetStr(aAction, e.Action)
	it.SetStr(aTarget, e.Target)
	it.SetStr(aDetail, e.Detail)
	it.SetBool(aRefused, e.Refused)
	it.SetStr(aFromAddress, e.Address)
	it.SetStr(aWith, e.With)
	it.SetStr(aRequest, e.Request)
	for {
		id := db.t.NextID(1)
		maps.Copy(it, auditKey(e.Site, id).Item())
		it[table.ID] = table.Number(id)
		if _, err := db.t.Put(ctx, it, table.Absent()); !errors.Is(err, table.ErrCondition) {
			return err
		}
	}
}

func recordOf(it table.Item) host.Record {
	return host.Record{ID: it.Num(table.ID), At: it.Time(aAt), Site: it.Num(table.Site), Who: it.Str(aWho), Action: it.Str(aAction),
		Target: it.Str(aTarget), Detail: it.Str(aDetail), Refused: it.Bool(aRefused),
		Origin: host.Origin{Address: it.Str(aFromAddress), With: it.Str(aWith), Request: it.Str(aRequest)}}
}

// auditPage is how many entries are read at once; DynamoDB returns at most 1 MB.
const auditPage = 1000

// clocks is the largest difference between an entry's time and its id's time, which may come from another clock.
const clocks = time.Hour

// Audits lists audit log entries, newest first. IDs ascend approximately with time, so it reads only entries with the
// requested times.
func (db *audits) Audits(ctx context.Context, q host.AuditQuery) (out []host.Record, err error) {
	s := table.Below(q.Before)
	if !q.From.IsZero() {
		s.From = max(s.From, table.IDAt(q.From.Add(-clocks)))
	}
	if !q.Until.IsZero() {
		s.To = min(s.To, table.IDAt(q.Until.Add(clocks)))
	}
	if s.From > s.To {
		return nil, nil
	}
	size := auditPage
	if q.Count > 0 && q == (host.AuditQuery{Site: q.Site, Before: q.Before, Count: q.Count}) {
		size = min(size, q.Count)
	}
	err = db.t.Pages(ctx, table.Query{Descending: true, Where: table.Where{Text: "#p = :p AND #s BETWEEN :from AND :to", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(auditKey(q.Site, 0).Partition), ":from": table.Text(table.Ordered(s.From)), ":to": table.Text(table.Ordered(s.To))}}}, size,
		func(page []table.Item) (bool, error) {
			for _, it := range page {
				if r := recordOf(it); q.Matches(r) {
					out = append(out, r)
				}
				if q.Count > 0 && len(out) == q.Count {
					return true, nil
				}
			}
			return false, nil
		})
	return out, err
}
