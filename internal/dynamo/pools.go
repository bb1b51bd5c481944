package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/env"
	"zerodag/internal/host"
)

// A pool, with its holders and its line.
//
//	O#<site>#<project>#<name>   R                          row; indexes site (O#<site>, id), project (O#, id)
//	O#<site>#<project>#<name>   S#<number>                 this slot is taken
//	O#<site>#<project>#<name>   T#<rank>#<since>#<holder>  this claim waits; sorted like the line
//
// One query reads all of it: the row first, then slots, then claims.
const (
	aPoolName  = "nm"
	aPoolSlots = "sl"
	aHeld      = "he"
	aHolder    = "ho"
	aTakenAt   = "ta"
)

const (
	slotPrefix  = "S#"
	claimPrefix = "T#"
	lastRank    = 9 // priorities are -9 to 9; ranks 00 to 18 sort in the opposite order
)

// linePage is how many items of a pool are read at once: pools are small, but lines may be long.
const linePage = 100

func poolPartition(ref host.PoolRef) string {
	return "O#" + table.Decimal(ref.Site) + "#" + table.Decimal(ref.Project) + "#" + ref.Name
}

func poolKey(ref host.PoolRef) table.Key { return table.At(poolPartition(ref), table.Row) }
func poolsOf(site int64) string          { return "O#" + table.Decimal(site) }

// allPools is the partition that holds the pools of all sites.
const allPools = "O#"

func slotKey(ref host.PoolRef, number int) table.Key {
	return table.At(poolPartition(ref), fmt.Sprintf("%s%04d", slotPrefix, number))
}

func claimKey(ref host.PoolRef, c host.Claim) table.Key {
	return table.At(poolPartition(ref), fmt.Sprintf("%s%02d#%s#%s", claimPrefix, lastRank-c.Priority, table.Ordered(c.Since), c.Holder))
}

func poolOf(it table.Item) host.Pool {
	return host.Pool{ID: it.Num(table.ID), PoolRef: host.PoolRef{Site: it.Num(table.Site), Project: it.Num(aProject), Name: it.Str(aPoolName)},
		Slots: int(it.Num(aPoolSlots)), Held: it.Bool(aHeld), CreatedAt: it.Time(aCreated), UpdatedAt: it.Time(aUpdated)}
}

// claimOf reads a claim from its key.
func claimOf(it table.Item) (c host.Claim, err error) {
	parts := strings.SplitN(strings.TrimPrefix(it.Str(table.Sort), claimPrefix), "#", 3)
	if len(parts) != 3 {
		return c, fmt.Errorf("read claim %s of %s: %w", it.Str(table.Sort), it.Str(table.Partition), table.ErrFormat)
	}
	rank, badRank := strconv.Atoi(parts[0])
	since, badSince := strconv.ParseInt(parts[1], 10, 64)
	if err := errors.Join(badRank, badSince); err != nil {
		return c, fmt.Errorf("read claim %s of %s: %w", it.Str(table.Sort), it.Str(table.Partition), err)
	}
	return host.Claim{Holder: parts[2], Slots: int(it.Num(aPoolSlots)), Priority: lastRank - rank, Since: since}, nil
}

// pools implements host.Pools and host.Semaphore.
type pools struct{ t *table.Table }

// SetPool creates or changes a pool: see host.Pools.
func (db *pools) SetPool(ctx context.Context, ref host.PoolRef, slots int, at time.Time) (host.Pool, error) {
	it, err := db.t.Updated(ctx, poolKey(ref), table.Where{
		Text:  "SET #sl = :slots, #ua = :at, #c = if_not_exists(#c, :at), #i = if_not_exists(#i, :id), #gs = :list, #gp = :all, #si = :site, #pj = :project, #nm = :name",
		Names: []string{aPoolSlots, aUpdated, aCreated, table.ID, aListSite, aListProject, table.Site, aProject, aPoolName},
		Values: table.Item{":slots": table.Number(int64(slots)), ":at": table.Micros(at), ":id": table.Number(db.t.NextID(1)), ":list": table.Text(poolsOf(ref.Site)), ":all": table.Text(allPools), ":site": table.Number(ref.Site),
			":project": table.Number(ref.Project), ":name": table.Text(ref.Name)}}, table.Where{})
	if err != nil {
		return host.Pool{}, err
	}
	return poolOf(it), nil
}

// HoldPool puts a pool on hold or ends the hold.
func (db *pools) HoldPool(ctx context.Context, ref host.PoolRef, held bool, at time.Time) (host.Pool, error) {
	it, err := db.t.Updated(ctx, poolKey(ref), table.Where{Text: "SET #he = :held, #ua = :at", Names: []string{aHeld, aUpdated},
		Values: table.Item{":held": &types.AttributeValueMemberBOOL{Value: held}, ":at": table.Micros(at)}}, table.Exists())
	if errors.Is(err, table.ErrCondition) {
		return host.Pool{}, table.OrNotFound(nil, "hold pool %s", ref.Name)
	} else if err != nil {
		return host.Pool{}, err
	}
	return poolOf(it), nil
}

// Pool returns a pool.
func (db *pools) Pool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	it, err := db.t.Get(ctx, poolKey(ref))
	if err != nil || it == nil {
		return host.Pool{}, table.OrNotFound(err, "read pool %s", ref.Name)
	}
	return poolOf(it), nil
}

// Pools lists pools of a site.
func (db *pools) Pools(ctx context.Context, q host.PoolQuery) (out []host.Pool, err error) {
	index, partition := env.BySite(), poolsOf(q.Site)
	if q.Site == host.AnySite {
		index, partition = env.ByProject(), allPools
	}
	err = db.t.ListOf(index, table.Above(q.After), false, q.Count, []string{partition}).Rows(ctx, func(rows []table.Item) (bool, error) {
		for _, it := range rows {
			if out = append(out, poolOf(it)); q.Count > 0 && len(out) == q.Count {
				return true, nil
			}
		}
		return false, nil
	})
	return out, err
}

// DeletePool removes an unused pool. A holder that takes a slot at the same moment keeps it until its try ends.
func (db *pools) DeletePool(ctx context.Context, ref host.PoolRef) error {
	l, err := db.Line(ctx, ref, 1)
	if err == nil && len(l.Taken)+len(l.Waiting) > 0 {
		return host.ErrConflict
	}
	if err == nil {
		err = db.t.Remove(ctx, poolKey(ref), table.Exists())
	}
	if errors.Is(err, table.ErrCondition) {
		return table.OrNotFound(nil, "delete pool %s", ref.Name)
	}
	return err
}

// Line reads a pool: see host.Semaphore. It reads slots before waiting claims.
func (db *pools) Line(ctx context.Context, ref host.PoolRef, n int) (l host.Line, err error) {
	q := table.Query{Where: table.Where{Text: "#p = :p", Names: []string{table.Partition}, Values: table.Item{":p": table.Text(poolPartition(ref))}}}
	err = db.t.Pages(ctx, q, linePage, func(items []table.Item) (enough bool, err error) {
		for _, it := range items {
			if err := addToLine(&l, it); err != nil {
				return false, err
			}
		}
		return len(l.Waiting) >= max(n, l.Slots, 1), nil
	})
	if err != nil {
		return host.Line{}, err
	}
	return l, nil
}

// addToLine adds the content of one of a pool's items.
func addToLine(l *host.Line, it table.Item) error {
	switch sort := it.Str(table.Sort); {
	case sort == table.Row:
		l.Slots, l.Held = int(it.Num(aPoolSlots)), it.Bool(aHeld)
	case strings.HasPrefix(sort, slotPrefix):
		number, err := strconv.Atoi(sort[len(slotPrefix):])
		if err != nil {
			return fmt.Errorf("read slot %s of %s: %w", sort, it.Str(table.Partition), err)
		}
		l.Taken = append(l.Taken, host.TakenSlot{Number: number, Holder: it.Str(aHolder), At: it.Time(aTakenAt)})
	default:
		c, err := claimOf(it)
		if err != nil {
			return err
		}
		l.Waiting = append(l.Waiting, c)
	}
	return nil
}

// TakeSlots gives slots to a holder: see host.Semaphore. Taking one slot of a pool with an empty line needs one put.
func (db *pools) TakeSlots(ctx context.Context, ref host.PoolRef, c host.Claim, numbers []int, inLine bool, at time.Time) error {
	var actions []table.Action
	for _, n := range numbers {
		it := slotKey(ref, n).Item()
		it.SetStr(aHolder, c.Holder)
		it.SetTime(aTakenAt, at)
		actions = append(actions, table.Action{Put: it, When: table.Absent()})
	}
	var err error
	if len(actions) == 1 && !inLine {
		_, err = db.t.Put(ctx, actions[0].Put, table.Absent())
	} else {
		if inLine {
			actions = append(actions, table.Action{Delete: claimKey(ref, c)})
		}
		_, err = db.t.Transact(ctx, actions)
	}
	if errors.Is(err, table.ErrCondition) {
		return host.ErrConflict
	}
	return err
}

// JoinLine puts a claim in the line.
func (db *pools) JoinLine(ctx context.Context, ref host.PoolRef, c host.Claim) error {
	it := claimKey(ref, c).Item()
	it.SetNum(aPoolSlots, int64(c.Slots))
	_, err := db.t.Put(ctx, it, table.Where{})
	return err
}

// LeaveLine removes a claim from the line.
func (db *pools) LeaveLine(ctx context.Context, ref host.PoolRef, c host.Claim) error {
	return db.t.Remove(ctx, claimKey(ref, c), table.Where{})
}

// FreeSlots frees a holder's slots, one after the other.
func (db *pools) FreeSlots(ctx context.Context, ref host.PoolRef, holder string, numbers []int) error {
	for _, n := range numbers {
		err := db.t.Remove(ctx, slotKey(ref, n), table.Where{Text: "#ho = :holder", Names: []string{aHolder}, Values: table.Item{":holder": table.Text(holder)}})
		if err != nil && !errors.Is(err, table.ErrCondition) {
			return err
		}
	}
	return nil
}
