package dynamo

import (
	"strconv"
	"strings"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// A session has the id of its first attempt, so finding it by id needs neither lists nor another row.
//
//	S#<project>#<workflow>   <time>     row
//	R#<session>              N#<name>   a later attempt: its name is taken
//	F#<project>#<workflow>   <time>     the session was removed
const (
	aAttempts = "n"  // number of attempts
	aFirst    = "fn" // retry name of the first attempt
	aLast     = "la" // id of the last attempt
)

func sessionKey(project int64, workflow string, t time.Time) table.Key {
	return table.At(sessionsOf(project, workflow), sessionSort(t))
}

func sessionsOf(project int64, workflow string) string {
	return "S#" + table.Decimal(project) + "#" + workflow
}

func forgottenKey(session table.Key) table.Key {
	return table.At("F"+strings.TrimPrefix(session.Partition, "S"), session.Sort)
}

// sessionSort returns a string that sorts like the time, even for times before 1970.
func sessionSort(t time.Time) string { return table.Ordered(t.UnixMicro() + 1<<62) }

func retriesOf(session int64) string { return "R#" + table.Decimal(session) }
func retryKey(session int64, name string) table.Key {
	return table.At(retriesOf(session), "N#"+name)
}
func retryItem(session int64, name string, attempt int64) table.Item {
	it := retryKey(session, name).Item()
	it[table.ID] = table.Number(attempt)
	return it
}

// session is a session's row.
type session struct {
	id       int64
	uuid     string
	attempts int64
	first    string
	last     int64
}

func sessionOf(it table.Item) session {
	return session{id: it.Num(table.ID), uuid: it.Str(aUUID), attempts: it.Num(aAttempts), first: it.Str(aFirst), last: it.Num(aLast)}
}

func (s session) item(k table.Key) table.Item {
	it := k.Item()
	it[table.ID] = table.Number(s.id)
	it.SetStr(aUUID, s.uuid)
	it.SetNum(aAttempts, s.attempts)
	it.SetStr(aFirst, s.first)
	it.SetNum(aLast, s.last)
	return it
}

func keyOfSession(a host.Attempt) table.Key {
	return sessionKey(a.Project.ID, a.Workflow.Name, a.SessionTime)
}

func sessionTime(sort string) time.Time {
	n, err := strconv.ParseInt(sort, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(n - 1<<62).UTC()
}
