package dynamo

import (
	"strconv"
	"strings"
	"time"

	"zerodag/internal/host"
)

// A session has the id of its first attempt, so that it needs neither lists nor a row for
// finding it by id.
//
//	S#<project>#<workflow>   <time>     row
//	R#<session>              N#<name>   a later attempt: its name is taken
//	F#<project>#<workflow>   <time>     the session was removed
const (
	aAttempts = "n"  // how many it has
	aFirst    = "fn" // retry name of the first one
	aLast     = "la" // id of the last one
)

func sessionKey(project int64, workflow string, t time.Time) key {
	return key{sessionsOf(project, workflow), sessionSort(t)}
}

func sessionsOf(project int64, workflow string) string {
	return "S#" + decimal(project) + "#" + workflow
}

func forgottenKey(session key) key {
	return key{"F" + strings.TrimPrefix(session.partition, "S"), session.sort}
}

// sessionSort sorts like the time, those before 1970 included.
func sessionSort(t time.Time) string { return ordered(t.UnixMicro() + 1<<62) }

func retriesOf(session int64) string          { return "R#" + decimal(session) }
func retryKey(session int64, name string) key { return key{retriesOf(session), "N#" + name} }
func retryItem(session int64, name string, attempt int64) item {
	it := retryKey(session, name).item()
	it[aID] = number(attempt)
	return it
}

// session is the row.
type session struct {
	id       int64
	uuid     string
	attempts int64
	first    string
	last     int64
}

func sessionOf(it item) session {
	return session{id: it.num(aID), uuid: it.str(aUUID), attempts: it.num(aAttempts), first: it.str(aFirst), last: it.num(aLast)}
}

func (s session) item(k key) item {
	it := k.item()
	it[aID] = number(s.id)
	it.setStr(aUUID, s.uuid)
	it.setNum(aAttempts, s.attempts)
	it.setStr(aFirst, s.first)
	it.setNum(aLast, s.last)
	return it
}

func keyOfSession(a host.Attempt) key {
	return sessionKey(a.Project.ID, a.Workflow.Name, a.SessionTime)
}

func sessionTime(sort string) time.Time {
	n, err := strconv.ParseInt(sort, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(n - 1<<62).UTC()
}
