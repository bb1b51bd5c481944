package dynamo

import (
	"hash/fnv"
	"time"

	"zerodag/internal/host"
)

// A schedule. Its id, of 31 bits since Digdag's clients read it as an int, is a hash of
// project and workflow; on collision the next one is tried.
//
//	H#<id>   R   row; indexes site (H#<site>, id), project (H#<project>, id),
//	             due (H#<shard>, time of the next run) while it is enabled and has not ended
const (
	aRun      = "tr"
	aNext     = "ts" // session time of the next run
	aLastTime = "tl"
	aUpdated  = "ua"
	aDisabled = "da"

	aListDue = "gd"
	aDue     = "d"
)

func scheduleKey(id int64) key          { return key{"H#" + decimal(id), row} }
func schedulesOfSite(site int64) string { return "H#" + decimal(site) }
func schedulesOfProject(p int64) string { return "H#" + decimal(p) }
func dueSchedules(shard int64) string   { return "H#" + decimal(shard) }

// scheduleID is the n-th id to try.
func scheduleID(project int64, workflow string, n int) int64 {
	f := fnv.New32a()
	f.Write([]byte(decimal(project) + "#" + workflow + "#" + decimal(int64(n))))
	return max(int64(f.Sum32()&(1<<31-1)), 1)
}

// ended is the next run of schedules that have ended; these are never due.
var ended = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

func scheduleItem(s host.Schedule) item {
	it := scheduleKey(s.ID).item()
	it[aID] = number(s.ID)
	it[aListSite], it[aListProject] = text(schedulesOfSite(s.Site)), text(schedulesOfProject(s.Project.ID))
	it.setNum(aSite, s.Site)
	it.setNum(aProject, s.Project.ID)
	it.setStr(aProjectName, s.Project.Name)
	it.setNum(aWorkflow, s.Workflow.ID)
	it.setStr(aName, s.Workflow.Name)
	it.setTime(aRun, s.Times.Run)
	it.setTime(aNext, s.Times.Session)
	it.setTime(aLastTime, s.Times.Last)
	it.setTime(aCreated, s.CreatedAt)
	it.setTime(aUpdated, s.UpdatedAt)
	it.setTime(aDisabled, s.DisabledAt)
	if s.DisabledAt.IsZero() && s.Times.Run.Before(ended) {
		it[aListDue], it[aDue] = text(dueSchedules(shardOf(s.ID))), micros(s.Times.Run)
	}
	return it
}

func scheduleOf(it item) host.Schedule {
	return host.Schedule{ID: it.num(aID), Site: it.num(aSite), Project: host.Ref{ID: it.num(aProject), Name: it.str(aProjectName)},
		Workflow: host.Ref{ID: it.num(aWorkflow), Name: it.str(aName)}, Times: host.Times{Run: it.time(aRun), Session: it.time(aNext), Last: it.time(aLastTime)},
		CreatedAt: it.time(aCreated), UpdatedAt: it.time(aUpdated), DisabledAt: it.time(aDisabled)}
}

// still is the condition that a schedule has the times that were read.
func still(t host.Times) where {
	w := exists()
	for _, x := range []struct {
		name string
		time time.Time
	}{{aRun, t.Run}, {aNext, t.Session}, {aLastTime, t.Last}} {
		w.names = append(w.names, x.name)
		if x.time.IsZero() {
			w.text += " AND attribute_not_exists(#" + x.name + ")"
			continue
		}
		if w.values == nil {
			w.values = item{}
		}
		w.text += " AND #" + x.name + " = :old" + x.name
		w.values[":old"+x.name] = micros(x.time)
	}
	return w
}
