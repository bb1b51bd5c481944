package dynamo

import (
	"encoding/json"
	"fmt"

	"zerodag/internal/sandbox"
)

// Commands of an attempt, and those of them that wait.
//
//	X#<attempt>   c#<key>            command; expires with the attempt
//	X#<attempt>   w#<class>#<key>    it waits; there for a moment after that, too
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

func commandKey(attempt int64, name string) key { return key{"X#" + decimal(attempt), "c#" + name} }

func waitingKey(attempt int64, class, name string) key {
	return key{"X#" + decimal(attempt), waitingPrefix(class) + name}
}

func waitingPrefix(class string) string { return "w#" + class + "#" }

func (db *DB) commandItem(c sandbox.Command) item {
	it := commandKey(c.Attempt, c.Key).item()
	it.setStr(cState, string(c.State))
	it.setStr(cClass, c.Class)
	it.setStr(cRunner, c.Runner)
	it.setStr(cTask, c.Task)
	it.setNum(aSite, c.Site)
	it.setNum(cProject, c.Project)
	it.setTime(cCreated, c.CreatedAt)
	it[aExpiry] = number(db.expiry(c.Attempt, c.CreatedAt))
	return it
}

func commandOf(attempt int64, it item) (sandbox.Command, error) {
	c := sandbox.Command{Attempt: attempt, Key: it.str(aSort)[len("c#"):], Site: it.num(aSite), Project: it.num(cProject), Task: it.str(cTask),
		Class: it.str(cClass), CreatedAt: it.time(cCreated), State: sandbox.State(it.str(cState)), Runner: it.str(cRunner), Parked: int(it.num(cParked)),
		Troubles: int(it.num(cTroubles)), Trouble: it.str(cTrouble), Ended: it.has(cEnded)}
	if it.has(cResult) {
		text, err := unpack(it.bytes(cResult))
		if err == nil {
			err = json.Unmarshal(text, &c.Result)
		}
		if err != nil {
			return c, fmt.Errorf("decode result of command %s of attempt %d: %w", c.Key, attempt, err)
		}
	}
	return c, nil
}

// Runners of all attempts, where a query for each shard finds them. Each writes its row six times a
// minute, and a partition takes 1,000 writes a second: that is 40,000 runners.
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

func runnerList(shard int64) string { return "RUN#" + decimal(shard) }

func runnerKey(p sandbox.Place) key {
	return key{runnerList(p.Attempt % runnerShards), ordered(p.Attempt) + "#" + p.Class + "#" + decimal(int64(p.Slot))}
}

func runnerItem(r sandbox.Runner) (item, error) {
	of, err := json.Marshal(r.Of)
	if err != nil {
		return nil, fmt.Errorf("encode runner: %w", err)
	}
	it := runnerKey(sandbox.Place{Attempt: r.Attempt, Class: r.Class, Slot: r.Slot, ID: r.ID}).item()
	it.setStr(rID, r.ID)
	it.setStr(rOf, string(of))
	it.setStr(cClass, r.Class)
	it.setNum("at", r.Attempt)
	it.setNum("sl", int64(r.Slot))
	it.setNum(aSite, r.Site)
	it.setNum(cProject, r.Project)
	it.setTime(rLaunched, r.Launched)
	it.setStr(rRefused, r.Refused)
	it.setBytes(rHash, r.Hash)
	it[rAsked] = number(int64(r.Asked))
	return it, nil
}

func runnerOf(it item) (sandbox.Runner, error) {
	r := sandbox.Runner{Attempt: it.num("at"), Class: it.str(cClass), Slot: int(it.num("sl")), ID: it.str(rID), Site: it.num(aSite), Project: it.num(cProject),
		Launched: it.time(rLaunched), Refused: it.str(rRefused), Seen: it.time(rSeen), Load: int(it.num(rLoad)), Asked: int(it.num(rAsked)), Task: it.str(rTask),
		Hash: it.bytes(rHash), Fenced: it.bool(rFenced), Why: it.str(rWhy), Left: it.bool(rLeft), Twice: it.bool(rTwice), Told: it.bool(rTold)}
	if err := json.Unmarshal([]byte(it.str(rOf)), &r.Of); err != nil {
		return r, fmt.Errorf("decode runner %s: %w", r.Name(), err)
	}
	return r, nil
}
