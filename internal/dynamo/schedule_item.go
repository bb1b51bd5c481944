package dynamo

import (
	"hash/fnv"
	"time"

	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// A schedule. Its id is a 31-bit hash of the project and workflow, because Digdag's clients read it as an int; after a
// collision the next id is tried.
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

func scheduleKey(id int64) table.Key    { return table.At("H#"+table.Decimal(id), table.Row) }
func schedulesOfSite(site int64) string { return "H#" + table.Decimal(site) }
func schedulesOfProject(p int64) string { return "H#" + table.Decimal(p) }
func dueSchedules(shard int64) string   { return "H#" + table.Decimal(shard) }

// scheduleID returns the n-th id to try.
func scheduleID(project int64, workflow string, n int) int64 {
	f := fnv.New32a()
	f.Write([]byte(table.Decimal(project) + "#" + workflow + "#" + table.Decimal(int64(n))))
	return max(int64(f.Sum32()&(1<<31-1)), 1)
}

// ended is the next run of schedules that have ended, so that they are never due.
var ended = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

func scheduleItem(s host.Schedule) table.Item {
	it := scheduleKey(s.ID).Item()
	it[table.ID] = table.Number(s.ID)
	it[aListSite], it[aListProject] = table.Text(schedulesOfSite(s.Site)), table.Text(schedulesOfProject(s.Project.ID))
	it.SetNum(table.Site, s.Site)
	it.SetNum(aProject, s.Project.ID)
	it.SetStr(aProjectName, s.Project.Name)
	it.SetNum(aWorkflow, s.Workflow.ID)
	it.SetStr(aName, s.Workflow.Name)
	it.SetTime(aRun, s.Times.Run)
	it.SetTime(aNext, s.Times.Session)
	it.SetTime(aLastTime, s.Times.Last)
	it.SetTime(aCreated, s.CreatedAt)
	it.SetTime(aUpdated, s.UpdatedAt)
	it.SetTime(aDisabled, s.DisabledAt)
	if s.DisabledAt.IsZero() && s.Times.Run.Before(ended) {
		it[aListDue], it[aDue] = table.Text(dueSchedules(table.ShardOf(s.ID))), table.Micros(s.Times.Run)
	}
	return it
}

func scheduleOf(it table.Item) host.Schedule {
	return host.Schedule{ID: it.Num(table.ID), Site: it.Num(table.Site), Project: host.Ref{ID: it.Num(aProject), Name: it.Str(aProjectName)},
		Workflow: host.Ref{ID: it.Num(aWorkflow), Name: it.Str(aName)}, Times: host.Times{Run: it.Time(aRun), Session: it.Time(aNext), Last: it.Time(aLastTime)},
		CreatedAt: it.Time(aCreated), UpdatedAt: it.Time(aUpdated), DisabledAt: it.Time(aDisabled)}
}

// still returns the condition that a schedule still has the times that were read.
func still(t host.Times) table.Where {
	w := table.Exists()
	for _, x := range []struct {
		name string
		time time.Time
	}{{aRun, t.Run}, {aNext, t.Session}, {aLastTime, t.Last}} {
		w.Names = append(w.Names, x.name)
		if x.time.IsZero() {
			w.Text += " AND attribute_not_exists(#" + x.name + ")"
			continue
		}
		if w.Values == nil {
			w.Values = table.Item{}
		}
		w.Text += " AND #" + x.name + " = :old" + x.name
		w.Values[":old"+x.name] = table.Micros(x.time)
	}
	return w
}
