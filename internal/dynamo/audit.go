package dynamo

import (
	"context"
	"errors"
	"maps"

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

func auditKey(site, id int64) key { return key{"U#" + decimal(site), ordered(id)} }

// Record adds to the audit log.
func (db *DB) Record(ctx context.Context, e host.Record) error {
	it := item{}
	it.setNum(aSite, e.Site)
	it.setTime(aAt, e.At)
	it.setStr(aWho, e.Who)
	it.setStr(aAction, e.Action)
	it.setStr(aTarget, e.Target)
	it.setStr(aDetail, e.Detail)
	for {
		id := db.ids.next(1)
		maps.Copy(it, auditKey(e.Site, id).item())
		it[aID] = number(id)
		if _, err := db.put(ctx, it, absent()); !errors.Is(err, errCondition) {
			return err
		}
	}
}

// Audits lists entries of the audit log, newest first.
func (db *DB) Audits(ctx context.Context, site, before int64, n int) ([]host.Record, error) {
	s := below(before)
	list, err := db.find(ctx, query{descending: true, limit: n, where: where{text: "#p = :p AND #s BETWEEN :from AND :to", names: []string{aPartition, aSort},
		values: item{":p": text(auditKey(site, 0).partition), ":from": text(ordered(s.from)), ":to": text(ordered(s.to))}}})
	var out []host.Record
	for _, it := range list {
		out = append(out, host.Record{ID: it.num(aID), At: it.time(aAt), Site: it.num(aSite), Who: it.str(aWho), Action: it.str(aAction), Target: it.str(aTarget), Detail: it.str(aDetail)})
	}
	return out, err
}
