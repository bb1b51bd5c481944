package dynamo

import (
	"context"
	"fmt"

	"zerodag/engine/param"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// An attempt is one partition: its row and its log's entries.
//
//	A#<id>        R               row, and entry 1; indexes site, project, workflow (A#<owner>#<shard>, id),
//	                              active (<site>#<shard>, id) until it has ended
//	A#<id>        E#<seq>         entry of the log: see entry_item.go
//	W#<session>   <id>            this attempt waits for that session to end
//	sites         <site>          a site that has projects
const (
	aSession     = "sn"
	aUUID        = "u"
	aSessionTime = "st"
	aProject     = "pj"
	aProjectName = "pn"
	aWorkflow    = "wf"
	aName        = "wn" // of the workflow
	aIndex       = "ix"
	aRetryName   = "rn"
	aZone        = "z"
	aParams      = "pr"
	aParamsBlob  = "pb"
	aLabels      = "lbl"
	aCreated     = "c"
	aStarts      = "sa"
	aFinished    = "f"
	aCanceled    = "cx"
	aSuccess     = "ok"
	aOutputs     = "ou"
	aIgnored     = "ie"
	aImported    = "im"
	aPaused      = "pa"
	aWaits       = "wt"
	aRetried     = "rt" // it is not the last attempt of its session
	aArchive     = "ar"
	aArchiveBlob = "ab"

	aListSite     = "gs"
	aListProject  = "gp"
	aListWorkflow = "gw"
	aListActive   = "ga"
)

func attemptKey(id int64) table.Key { return table.At("A#"+table.Decimal(id), table.Row) }

func siteList(site, shard int64) string {
	return "A#" + table.Decimal(site) + "#" + table.Decimal(shard)
}
func projectList(project, shard int64) string {
	return "A#" + table.Decimal(project) + "#" + table.Decimal(shard)
}
func workflowList(project int64, name string, shard int64) string {
	return "A#" + table.Decimal(project) + "#" + name + "#" + table.Decimal(shard)
}
func activeList(site, shard int64) string { return table.Decimal(site) + "#" + table.Decimal(shard) }

func waitKey(session, attempt int64) table.Key {
	return table.At("W#"+table.Decimal(session), table.Ordered(attempt))
}

func siteKey(site int64) table.Key { return table.At("sites", table.Ordered(site)) }

// largestParams is the maximum size of parameters in the row, because lists read rows.
const largestParams = 4 << 10

func (db *DB) attemptItem(ctx context.Context, a host.Attempt) (table.Item, error) {
	it := attemptKey(a.ID).Item()
	s := table.ShardOf(a.ID)
	it[table.ID] = table.Number(a.ID)
	it[aListSite], it[aListProject] = table.Text(siteList(a.Site, s)), table.Text(projectList(a.Project.ID, s))
	it[aListWorkflow], it[aListActive] = table.Text(workflowList(a.Project.ID, a.Workflow.Name, s)), table.Text(activeList(a.Site, s))
	it.SetNum(table.Site, a.Site)
	it.SetNum(aSession, a.SessionID)
	it.SetStr(aUUID, a.SessionUUID)
	it.SetTime(aSessionTime, a.SessionTime)
	it.SetNum(aProject, a.Project.ID)
	it.SetStr(aProjectName, a.Project.Name)
	it.SetNum(aWorkflow, a.Workflow.ID)
	it.SetStr(aName, a.Workflow.Name)
	it.SetNum(aIndex, int64(a.Index))
	it.SetStr(aRetryName, a.RetryName)
	it.SetStr(aZone, a.Zone)
	it.SetTree(aLabels, a.Labels)
	it.SetTime(aCreated, a.CreatedAt)
	it.SetTime(aStarts, a.StartsAt)
	it.SetNum(aWaits, a.AfterSession)
	return it, db.t.SetLarge(ctx, it, aParams, aParamsBlob, table.StatePrefix(a.ID), table.Pack(param.AppendStored(nil, a.Params)), largestParams)
}

func (db *DB) attemptOf(ctx context.Context, it table.Item) (host.Attempt, error) {
	text, err := db.t.Large(ctx, it, aParams, aParamsBlob)
	if err != nil {
		return host.Attempt{}, err
	}
	params, err := table.TreeOf(text)
	if err != nil {
		return host.Attempt{}, fmt.Errorf("decode params of attempt %d: %w", it.Num(table.ID), err)
	}
	a := rowOf(it, params)
	if a.Labels, err = it.Tree(aLabels); err != nil {
		return host.Attempt{}, fmt.Errorf("decode labels of attempt %d: %w", a.ID, err)
	}
	return a, nil
}

// rowOf returns the attempt in an item without its labels, with the given parameters, which may be nil.
func rowOf(it table.Item, params *param.Map) host.Attempt {
	return host.Attempt{ID: it.Num(table.ID), Site: it.Num(table.Site), SessionID: it.Num(aSession), SessionUUID: it.Str(aUUID), SessionTime: it.Time(aSessionTime),
		Project: host.Ref{ID: it.Num(aProject), Name: it.Str(aProjectName)}, Workflow: host.Ref{ID: it.Num(aWorkflow), Name: it.Str(aName)},
		Index: int(it.Num(aIndex)), RetryName: it.Str(aRetryName), Zone: it.Str(aZone), Params: params, CreatedAt: it.Time(aCreated), StartsAt: it.Time(aStarts), FinishedAt: it.Time(aFinished),
		Canceled: it.Bool(aCanceled), Done: it.Has(aFinished), Success: it.Bool(aSuccess), HasOutputs: it.Bool(aOutputs), Ignored: it.Bool(aIgnored), Imported: it.Bool(aImported), Paused: it.Bool(aPaused), AfterSession: it.Num(aWaits)}
}

func (db *DB) attemptsOf(ctx context.Context, list []table.Item) ([]host.Attempt, error) {
	var out []host.Attempt
	for _, it := range list {
		a, err := db.attemptOf(ctx, it)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}
