package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"zerodag/internal/env"
	"zerodag/internal/host"
)

// A pool, and who shares it.
//
//	O#<site>#<project>#<name>   R                          row; indexes site (O#<site>, id), project (O#, id)
//	O#<site>#<project>#<name>   S#<number>                 this slot is taken
//	O#<site>#<project>#<name>   T#<rank>#<since>#<holder>  this claim waits; sorted as the line is
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
	lastRank    = 9 // priorities are -9 to 9; ranks 00 to 18 sort the other way
)

// linePage is how many items of a pool are read at once: pools are small, and lines may be long.
const linePage = 100

func poolPartition(ref host.PoolRef) string {
	return "O#" + decimal(ref.Site) + "#" + decimal(ref.Project) + "#" + ref.Name
}

func poolKey(ref host.PoolRef) key { return key{poolPartition(ref), row} }
func poolsOf(site int64) string    { return "O#" + decimal(site) }

// allPools are those of every site.
const allPools = "O#"

func slotKey(ref host.PoolRef, number int) key {
	return key{poolPartition(ref), fmt.Sprintf("%s%04d", slotPrefix, number)}
}

func claimKey(ref host.PoolRef, c host.Claim) key {
	return key{poolPartition(ref), fmt.Sprintf("%s%02d#%s#%s", claimPrefix, lastRank-c.Priority, ordered(c.Since), c.Holder)}
}

func poolOf(it item) host.Pool {
	return host.Pool{ID: it.num(aID), PoolRef: host.PoolRef{Site: it.num(aSite), Project: it.num(aProject), Name: it.str(aPoolName)},
		Slots: int(it.num(aPoolSlots)), Held: it.bool(aHeld), CreatedAt: it.time(aCreated), UpdatedAt: it.time(aUpdated)}
}

// claimOf reads a claim from its key.
func claimOf(it item) (c host.Claim, err error) {
	parts := strings.SplitN(strings.TrimPrefix(it.str(aSort), claimPrefix), "#", 3)
	if len(parts) != 3 {
		return c, fmt.Errorf("read claim %s of %s: %w", it.str(aSort), it.str(aPartition), errFormat)
	}
	rank, badRank := strconv.Atoi(parts[0])
	since, badSince := strconv.ParseInt(parts[1], 10, 64)
	if err := errors.Join(badRank, badSince); err != nil {
		return c, fmt.Errorf("read claim %s of %s: %w", it.str(aSort), it.str(aPartition), err)
	}
	return host.Claim{Holder: parts[2], Slots: int(it.num(aPoolSlots)), Priority: lastRank - rank, Since: since}, nil
}

// SetPool makes or changes a pool: see host.Pools.
func (db *DB) SetPool(ctx context.Context, ref host.PoolRef, slots int, at time.Time) (host.Pool, error) {
	it, err := db.updated(ctx, poolKey(ref), where{
		text:  "SET #sl = :slots, #ua = :at, #c = if_not_exists(#c, :at), #i = if_not_exists(#i, :id), #gs = :list, #gp = :all, #si = :site, #pj = :project, #nm = :name",
		names: []string{aPoolSlots, aUpdated, aCreated, aID, aListSite, aListProject, aSite, aProject, aPoolName},
		values: item{":slots": number(int64(slots)), ":at": micros(at), ":id": number(db.ids.next(1)), ":list": text(poolsOf(ref.Site)), ":all": text(allPools), ":site": number(ref.Site),
			":project": number(ref.Project), ":name": text(ref.Name)}}, where{})
	if err != nil {
		return host.Pool{}, err
	}
	return poolOf(it), nil
}

// HoldPool sets whether a pool is held.
func (db *DB) HoldPool(ctx context.Context, ref host.PoolRef, held bool, at time.Time) (host.Pool, error) {
	it, err := db.updated(ctx, poolKey(ref), where{text: "SET #he = :held, #ua = :at", names: []string{aHeld, aUpdated},
		values: item{":held": &types.AttributeValueMemberBOOL{Value: held}, ":at": micros(at)}}, exists())
	if errors.Is(err, errCondition) {
		return host.Pool{}, orNotFound(nil, "hold pool %s", ref.Name)
	} else if err != nil {
		return host.Pool{}, err
	}
	return poolOf(it), nil
}

// Pool returns a pool.
func (db *DB) Pool(ctx context.Context, ref host.PoolRef) (host.Pool, error) {
	it, err := db.get(ctx, poolKey(ref))
	if err != nil || it == nil {
		return host.Pool{}, orNotFound(err, "read pool %s", ref.Name)
	}
	return poolOf(it), nil
}

// Pools lists pools of a site.
func (db *DB) Pools(ctx context.Context, q host.PoolQuery) (out []host.Pool, err error) {
	index, partition := env.BySite(), poolsOf(q.Site)
	if q.Site == host.AnySite {
		index, partition = env.ByProject(), allPools
	}
	err = db.listOf(index, above(q.After), false, q.Count, []string{partition}).rows(ctx, func(rows []item) (bool, error) {
		for _, it := range rows {
			if out = append(out, poolOf(it)); q.Count > 0 && len(out) == q.Count {
				return true, nil
			}
		}
		return false, nil
	})
	return out, err
}

// DeletePool removes a pool that nobody uses. Who takes a slot in the same moment has it until its try ends.
func (db *DB) DeletePool(ctx context.Context, ref host.PoolRef) error {
	l, err := db.Line(ctx, ref, 1)
	if err == nil && len(l.Taken)+len(l.Waiting) > 0 {
		return host.ErrConflict
	}
	if err == nil {
		err = db.remove(ctx, poolKey(ref), exists())
	}
	if errors.Is(err, errCondition) {
		return orNotFound(nil, "delete pool %s", ref.Name)
	}
	return err
}

// Line reads a pool: see host.Semaphore. Slots are read before the claims that wait.
func (db *DB) Line(ctx context.Context, ref host.PoolRef, n int) (l host.Line, err error) {
	in := db.input(query{where: where{text: "#p = :p", names: []string{aPartition}, values: item{":p": text(poolPartition(ref))}}})
	in.Limit = aws.Int32(linePage)
	for {
		out, err := db.client.Query(ctx, in)
		if err != nil {
			return host.Line{}, translate("query", err)
		}
		for _, it := range out.Items {
			if err := addToLine(&l, it); err != nil {
				return host.Line{}, err
			}
		}
		if out.LastEvaluatedKey == nil || len(l.Waiting) >= max(n, l.Slots, 1) {
			return l, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// addToLine adds what an item of a pool says.
func addToLine(l *host.Line, it item) error {
	switch sort := it.str(aSort); {
	case sort == row:
		l.Slots, l.Held = int(it.num(aPoolSlots)), it.bool(aHeld)
	case strings.HasPrefix(sort, slotPrefix):
		number, err := strconv.Atoi(sort[len(slotPrefix):])
		if err != nil {
			return fmt.Errorf("read slot %s of %s: %w", sort, it.str(aPartition), err)
		}
		l.Taken = append(l.Taken, host.TakenSlot{Number: number, Holder: it.str(aHolder), At: it.time(aTakenAt)})
	default:
		c, err := claimOf(it)
		if err != nil {
			return err
		}
		l.Waiting = append(l.Waiting, c)
	}
	return nil
}

// TakeSlots gives slots to a holder: see host.Semaphore. One slot of a pool in which nobody waits is one put.
func (db *DB) TakeSlots(ctx context.Context, ref host.PoolRef, c host.Claim, numbers []int, inLine bool, at time.Time) error {
	var actions []action
	for _, n := range numbers {
		it := slotKey(ref, n).item()
		it.setStr(aHolder, c.Holder)
		it.setTime(aTakenAt, at)
		actions = append(actions, action{put: it, when: absent()})
	}
	var err error
	if len(actions) == 1 && !inLine {
		_, err = db.put(ctx, actions[0].put, absent())
	} else {
		if inLine {
			actions = append(actions, action{delete: claimKey(ref, c)})
		}
		_, err = db.transact(ctx, actions)
	}
	if errors.Is(err, errCondition) {
		return host.ErrConflict
	}
	return err
}

// JoinLine puts a claim into the line.
func (db *DB) JoinLine(ctx context.Context, ref host.PoolRef, c host.Claim) error {
	it := claimKey(ref, c).item()
	it.setNum(aPoolSlots, int64(c.Slots))
	_, err := db.put(ctx, it, where{})
	return err
}

// LeaveLine takes a claim out of the line.
func (db *DB) LeaveLine(ctx context.Context, ref host.PoolRef, c host.Claim) error {
	return db.remove(ctx, claimKey(ref, c), where{})
}

// FreeSlots frees slots of a holder, one after the other.
func (db *DB) FreeSlots(ctx context.Context, ref host.PoolRef, holder string, numbers []int) error {
	for _, n := range numbers {
		err := db.remove(ctx, slotKey(ref, n), where{text: "#ho = :holder", names: []string{aHolder}, values: item{":holder": text(holder)}})
		if err != nil && !errors.Is(err, errCondition) {
			return err
		}
	}
	return nil
}
