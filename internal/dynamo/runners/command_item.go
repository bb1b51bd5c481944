package runners

import (
	"encoding/json"
	"fmt"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/sandbox"
)

// An attempt's commands, and markers for commands that wait.
//
//	X#<attempt>   c#<key>            command; expires with the attempt
//	X#<attempt>   w#<class>#<key>    it waits; stays for a moment afterwards
const (
	cState    = "st"
	cClass    = "cl"
	cRunner   = "rn"
	cParked   = "pk"
	cResult   = "re"
	cEnded    = "en"
	cTroubles = "tn"
	cTrouble  = "tr"
	cSpec     = "sp"
	cSpecBlob = "sb"
	cTask     = "tk"
	cProject  = "pj"
	cCreated  = "cr"
)

func commandKey(attempt int64, name string) table.Key {
	return table.At("X#"+table.Decimal(attempt), "c#"+name)
}

func waitingKey(attempt int64, class, name string) table.Key {
	return table.At("X#"+table.Decimal(attempt), waitingPrefix(class)+name)
}

func waitingPrefix(class string) string { return "w#" + class + "#" }

func (db Commands) commandItem(c sandbox.Command) table.Item {
	it := commandKey(c.Attempt, c.Key).Item()
	it.SetStr(cState, string(c.State))
	it.SetStr(cClass, c.Class)
	it.SetStr(cRunner, c.Runner)
	it.SetStr(cTask, c.Task)
	it.SetNum(table.Site, c.Site)
	it.SetNum(cProject, c.Project)
	it.SetTime(cCreated, c.CreatedAt)
	it[table.Expiry] = table.Number(db.t.Expiry(c.Attempt, c.CreatedAt))
	return it
}

func commandOf(attempt int64, it table.Item) (sandbox.Command, error) {
	c := sandbox.Command{Attempt: attempt, Key: it.Str(table.Sort)[len("c#"):], Site: it.Num(table.Site), Project: it.Num(cProject), Task: it.Str(cTask),
		Class: it.Str(cClass), CreatedAt: it.Time(cCreated), State: sandbox.State(it.Str(cState)), Runner: it.Str(cRunner), Parked: int(it.Num(cParked)),
		Troubles: int(it.Num(cTroubles)), Trouble: it.Str(cTrouble), Ended: it.Has(cEnded)}
	if it.Has(cResult) {
		text, err := table.Unpack(it.Bytes(cResult))
		if err == nil {
			err = json.Unmarshal(text, &c.Result)
		}
		if err != nil {
			return c, fmt.Errorf("decode result of command %s of attempt %d: %w", c.Key, attempt, err)
		}
	}
	return c, nil
}

// Runners of all attempts, found by a query for each shard. Each writes its row six times a minute, and a partition
// takes 1,000 writes a second: that is 40,000 runners.
//
//	RUN#<shard>   <attempt>#<class>#<slot>   runner
const (
	runnerShards = 4

	rID       = "id"
	rOf       = "of"
	rLaunched = "la"
	rRefused  = "rf"
	rSeen     = "se"
	rLoad     = "ld"
	rAsked    = "as"
	rTask     = "tk"
	rHash     = "hs"
	rFenced   = "fe"
	rWhy      = "wy"
	rLeft     = "lv"
	rTwice    = "tw"
	rTold     = "to"
)

func runnerList(shard int64) string { return "RUN#" + table.Decimal(shard) }

func runnerKey(p sandbox.Place) table.Key {
	return table.At(runnerList(p.Attempt%runnerShards), table.Ordered(p.Attempt)+"#"+p.Class+"#"+table.Decimal(int64(p.Slot)))
}

func runnerItem(r sandbox.Runner) (table.Item, error) {
	of, err := json.Marshal(r.Of)
	if err != nil {
		return nil, fmt.Errorf("encode runner: %w", err)
	}
	it := runnerKey(sandbox.Place{Attempt: r.Attempt, Class: r.Class, Slot: r.Slot, ID: r.ID}).Item()
	it.SetStr(rID, r.ID)
	it.SetStr(rOf, string(of))
	it.SetStr(cClass, r.Class)
	it.SetNum("at", r.Attempt)
	it.SetNum("sl", int64(r.Slot))
	it.SetNum(table.Site, r.Site)
	it.SetNum(cProject, r.Project)
	it.SetTime(rLaunched, r.Launched)
	it.SetStr(rRefused, r.Refused)
	it.SetBytes(rHash, r.Hash)
	it[rAsked] = table.Number(int64(r.Asked))
	return it, nil
}

func runnerOf(it table.Item) (sandbox.Runner, error) {
	r := sandbox.Runner{Attempt: it.Num("at"), Class: it.Str(cClass), Slot: int(it.Num("sl")), ID: it.Str(rID), Site: it.Num(table.Site), Project: it.Num(cProject),
		Launched: it.Time(rLaunched), Refused: it.Str(rRefused), Seen: it.Time(rSeen), Load: int(it.Num(rLoad)), Asked: int(it.Num(rAsked)), Task: it.Str(rTask),
		Hash: it.Bytes(rHash), Fenced: it.Bool(rFenced), Why: it.Str(rWhy), Left: it.Bool(rLeft), Twice: it.Bool(rTwice), Told: it.Bool(rTold)}
	if err := json.Unmarshal([]byte(it.Str(rOf)), &r.Of); err != nil {
		return r, fmt.Errorf("decode runner %s: %w", r.Name(), err)
	}
	return r, nil
}
