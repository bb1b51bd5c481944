package dynamo

import (
	"context"
	"errors"
	"maps"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// An entry of the audit log.
//
//	U#<site>   <id>   entry
const (
	aWho    = "wh"
	aAction = "ac"
	aTarget = "ta"
	aDetail = "de"
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
	for {
		id := db.t.NextID(1)
		maps.Copy(it, auditKey(e.Site, id).Item())
		it[table.ID] = table.Number(id)
		if _, err := db.t.Put(ctx, it, table.Absent()); !errors.Is(err, table.ErrCondition) {
			return err
		}
	}
}

// Audits lists entries of the audit log, newest first.
func (db *audits) Audits(ctx context.Context, site, before int64, n int) ([]host.Record, error) {
	s := table.Below(before)
	list, err := db.t.Find(ctx, table.Query{Descending: true, Limit: n, Where: table.Where{Text: "#p = :p AND #s BETWEEN :from AND :to", Names: []string{table.Partition, table.Sort},
		Values: table.Item{":p": table.Text(auditKey(site, 0).Partition), ":from": table.Text(table.Ordered(s.From)), ":to": table.Text(table.Ordered(s.To))}}})
	var out []host.Record
	for _, it := range list {
		out = append(out, host.Record{ID: it.Num(table.ID), At: it.Time(aAt), Site: it.Num(table.Site), Who: it.Str(aWho), Action: it.Str(aAction), Target: it.Str(aTarget), Detail: it.Str(aDetail)})
	}
	return out, err
}
