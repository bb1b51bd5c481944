package dynamo

import (
	"context"
	"fmt"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// An attempt is one partition: its row and the entries of its log.
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
	aPaused      = "pa"
	aWaits       = "wt"
	aRetried     = "rt" // it is not the last one of its session
	aArchive     = "ar"
	aArchiveBlob = "ab"

	aListSite     = "gs"
	aListProject  = "gp"
	aListWorkflow = "gw"
	aListActive   = "ga"
)

// shards spread a list over partitions of its index: one takes 1,000 writes a second.
const shards = 8

func shardOf(id int64) int64 { return id % shards }

func attemptKey(id int64) key { return key{"A#" + decimal(id), row} }

func siteList(site, shard int64) string       { return "A#" + decimal(site) + "#" + decimal(shard) }
func projectList(project, shard int64) string { return "A#" + decimal(project) + "#" + decimal(shard) }
func workflowList(project int64, name string, shard int64) string {
	return "A#" + decimal(project) + "#" + name + "#" + decimal(shard)
}
func activeList(site, shard int64) string { return decimal(site) + "#" + decimal(shard) }

func waitKey(session, attempt int64) key { return key{"W#" + decimal(session), ordered(attempt)} }

func siteKey(site int64) key { return key{"sites", ordered(site)} }

// largestParams is what lies in the row: lists read rows.
const largestParams = 4 << 10

func (db *DB) attemptItem(ctx context.Context, a host.Attempt) (item, error) {
	it := attemptKey(a.ID).item()
	s := shardOf(a.ID)
	it[aID] = number(a.ID)
	it[aListSite], it[aListProject] = text(siteList(a.Site, s)), text(projectList(a.Project.ID, s))
	it[aListWorkflow], it[aListActive] = text(workflowList(a.Project.ID, a.Workflow.Name, s)), text(activeList(a.Site, s))
	it.setNum(aSite, a.Site)
	it.setNum(aSession, a.SessionID)
	it.setStr(aUUID, a.SessionUUID)
	it.setTime(aSessionTime, a.SessionTime)
	it.setNum(aProject, a.Project.ID)
	it.setStr(aProjectName, a.Project.Name)
	it.setNum(aWorkflow, a.Workflow.ID)
	it.setStr(aName, a.Workflow.Name)
	it.setNum(aIndex, int64(a.Index))
	it.setStr(aRetryName, a.RetryName)
	it.setStr(aZone, a.Zone)
	it.setTree(aLabels, a.Labels)
	it.setTime(aCreated, a.CreatedAt)
	it.setTime(aStarts, a.StartsAt)
	it.setNum(aWaits, a.AfterSession)
	return it, db.setLarge(ctx, it, aParams, aParamsBlob, statePrefix(a.ID), pack(param.AppendStored(nil, a.Params)), largestParams)
}

func (db *DB) attemptOf(ctx context.Context, it item) (host.Attempt, error) {
	text, err := db.large(ctx, it, aParams, aParamsBlob)
	if err != nil {
		return host.Attempt{}, err
	}
	params, err := treeOf(text)
	if err != nil {
		return host.Attempt{}, fmt.Errorf("decode params of attempt %d: %w", it.num(aID), err)
	}
	a := rowOf(it, params)
	if a.Labels, err = it.tree(aLabels); err != nil {
		return host.Attempt{}, fmt.Errorf("decode labels of attempt %d: %w", a.ID, err)
	}
	return a, nil
}

// rowOf is the attempt of an item without its labels, with parameters that were read from it or nil.
func rowOf(it item, params *param.Map) host.Attempt {
	return host.Attempt{ID: it.num(aID), Site: it.num(aSite), SessionID: it.num(aSession), SessionUUID: it.str(aUUID), SessionTime: it.time(aSessionTime),
		Project: host.Ref{ID: it.num(aProject), Name: it.str(aProjectName)}, Workflow: host.Ref{ID: it.num(aWorkflow), Name: it.str(aName)},
		Index: int(it.num(aIndex)), RetryName: it.str(aRetryName), Zone: it.str(aZone), Params: params, CreatedAt: it.time(aCreated), StartsAt: it.time(aStarts), FinishedAt: it.time(aFinished),
		Canceled: it.bool(aCanceled), Done: it.has(aFinished), Success: it.bool(aSuccess), HasOutputs: it.bool(aOutputs), Ignored: it.bool(aIgnored), Paused: it.bool(aPaused), AfterSession: it.num(aWaits)}
}

func (db *DB) attemptsOf(ctx context.Context, list []item) ([]host.Attempt, error) {
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
