package dynamo

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"zerodag/engine/param"
	"zerodag/internal/dynamo/table"
	"zerodag/internal/host"
)

// A revision's definitions.
//
//	V#<revision>            R   all of them by name, and the ids of its schedules: the manifest
//	D#<definition>          R   one of them
//	C#<project>#<digest>    R   the text of identical ones
const (
	aManifest     = "m"
	aManifestBlob = "mb"
	aDigest       = "h"
	aConfig       = "cf"
	aConfigBlob   = "cb"
)

func manifestKey(revision int64) table.Key {
	return table.At("V#"+table.Decimal(revision), table.Row)
}
func definitionKey(id int64) table.Key { return table.At("D#"+table.Decimal(id), table.Row) }
func configKey(project int64, digest string) table.Key {
	return table.At("C#"+table.Decimal(project)+"#"+digest, table.Row)
}

// manifest lists a revision's contents.
type manifest struct {
	Site        int64            `json:"site"`
	Project     int64            `json:"project"`
	ProjectName string           `json:"projectName"`
	Revision    int64            `json:"revision"`
	Name        string           `json:"name"`
	Archive     string           `json:"archive"`
	Definitions []definition     `json:"definitions"`
	Schedules   map[string]int64 `json:"schedules"` // ids by workflow
}

type definition struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Zone   string `json:"zone"`
	Digest string `json:"digest"`
}

func (db *DB) manifestItem(ctx context.Context, m manifest) (table.Item, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode manifest of revision %s: %w", m.Name, err)
	}
	it := manifestKey(m.Revision).Item()
	return it, db.t.SetLarge(ctx, it, aManifest, aManifestBlob, fmt.Sprintf("definitions/%d/", m.Project), table.Pack(b), largestBody)
}

// manifestOf reads the manifest of an item; it is empty for a revision that is being pushed.
func (db *DB) manifestOf(ctx context.Context, it table.Item) (m manifest, err error) {
	if !it.Has(aManifest) && !it.Has(aManifestBlob) {
		return manifest{Site: host.AnySite}, nil
	}
	b, err := db.t.Large(ctx, it, aManifest, aManifestBlob)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("decode manifest %s: %w", it.Str(table.Partition), err)
	}
	return m, nil
}

func definitionItem(m manifest, d definition) (table.Item, error) {
	it := definitionKey(d.ID).Item()
	it[table.ID] = table.Number(d.ID)
	it.SetNum(table.Site, m.Site)
	it.SetNum(aProject, m.Project)
	it.SetStr(aProjectName, m.ProjectName)
	it.SetNum(aRevision, m.Revision)
	it.SetStr(aRevName, m.Name)
	it.SetStr(aRevArchive, m.Archive)
	it.SetStr(aName, d.Name)
	it.SetStr(aZone, d.Zone)
	digest, err := hex.DecodeString(d.Digest)
	it.SetBytes(aDigest, digest)
	return it, err
}

// workflowOf returns a definition without its text, and the key of the text.
func workflowOf(it table.Item) (host.Workflow, table.Key) {
	w := host.Workflow{ID: it.Num(table.ID), Site: it.Num(table.Site), Project: host.Ref{ID: it.Num(aProject), Name: it.Str(aProjectName)},
		Revision: host.Ref{ID: it.Num(aRevision), Name: it.Str(aRevName)}, Archive: it.Str(aRevArchive), Name: it.Str(aName), Zone: it.Str(aZone)}
	return w, configKey(w.Project.ID, hex.EncodeToString(it.Bytes(aDigest)))
}

func (m manifest) workflow(d definition) (host.Workflow, table.Key) {
	w := host.Workflow{ID: d.ID, Site: m.Site, Project: host.Ref{ID: m.Project, Name: m.ProjectName}, Revision: host.Ref{ID: m.Revision, Name: m.Name},
		Archive: m.Archive, Name: d.Name, Zone: d.Zone}
	return w, configKey(m.Project, d.Digest)
}

func (db *DB) configOf(ctx context.Context, it table.Item) (*param.Map, error) {
	b, err := db.t.Large(ctx, it, aConfig, aConfigBlob)
	if err != nil {
		return nil, err
	}
	m, err := table.TreeOf(b)
	if err != nil {
		return nil, fmt.Errorf("decode definition %s: %w", it.Str(table.Partition), err)
	}
	return m, nil
}
