package dynamo

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// The definitions of a revision.
//
//	V#<revision>            R   all of them by name, and the ids of its schedules: the manifest
//	D#<definition>          R   one of them
//	C#<project>#<digest>    R   the text of those that are alike
const (
	aManifest     = "m"
	aManifestBlob = "mb"
	aDigest       = "h"
	aConfig       = "cf"
	aConfigBlob   = "cb"
)

func manifestKey(revision int64) key { return key{"V#" + decimal(revision), row} }
func definitionKey(id int64) key     { return key{"D#" + decimal(id), row} }
func configKey(project int64, digest string) key {
	return key{"C#" + decimal(project) + "#" + digest, row}
}

// manifest says what belongs to a revision.
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

func (db *DB) manifestItem(ctx context.Context, m manifest) (item, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode manifest of revision %s: %w", m.Name, err)
	}
	it := manifestKey(m.Revision).item()
	return it, db.setLarge(ctx, it, aManifest, aManifestBlob, fmt.Sprintf("definitions/%d/", m.Project), pack(b), largestBody)
}

// setLarge stores b in the item or, when it is too large for one, in a blob.
func (db *DB) setLarge(ctx context.Context, it item, name, blobName, prefix string, b []byte, largest int) error {
	if len(b) <= largest {
		it[name] = binaryOf(b)
		return nil
	}
	blob, err := db.putNamed(ctx, prefix, b)
	it.setStr(blobName, blob)
	return err
}

func (db *DB) large(ctx context.Context, it item, name, blobName string) ([]byte, error) {
	b := it.bytes(name)
	if blob := it.str(blobName); blob != "" {
		var err error
		if b, err = db.readBlob(ctx, blob); err != nil {
			return nil, err
		}
	}
	return unpack(b)
}

// manifestOf is empty for a revision that is being pushed.
func (db *DB) manifestOf(ctx context.Context, it item) (m manifest, err error) {
	if !it.has(aManifest) && !it.has(aManifestBlob) {
		return manifest{Site: host.AnySite}, nil
	}
	b, err := db.large(ctx, it, aManifest, aManifestBlob)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, fmt.Errorf("decode manifest %s: %w", it.str(aPartition), err)
	}
	return m, nil
}

func definitionItem(m manifest, d definition) (item, error) {
	it := definitionKey(d.ID).item()
	it[aID] = number(d.ID)
	it.setNum(aSite, m.Site)
	it.setNum(aProject, m.Project)
	it.setStr(aProjectName, m.ProjectName)
	it.setNum(aRevision, m.Revision)
	it.setStr(aRevName, m.Name)
	it.setStr(aRevArchive, m.Archive)
	it.setStr(aName, d.Name)
	it.setStr(aZone, d.Zone)
	digest, err := hex.DecodeString(d.Digest)
	it.setBytes(aDigest, digest)
	return it, err
}

// workflowOf is a definition without its text, and where that is.
func workflowOf(it item) (host.Workflow, key) {
	w := host.Workflow{ID: it.num(aID), Site: it.num(aSite), Project: host.Ref{ID: it.num(aProject), Name: it.str(aProjectName)},
		Revision: host.Ref{ID: it.num(aRevision), Name: it.str(aRevName)}, Archive: it.str(aRevArchive), Name: it.str(aName), Zone: it.str(aZone)}
	return w, configKey(w.Project.ID, hex.EncodeToString(it.bytes(aDigest)))
}

func (m manifest) workflow(d definition) (host.Workflow, key) {
	w := host.Workflow{ID: d.ID, Site: m.Site, Project: host.Ref{ID: m.Project, Name: m.ProjectName}, Revision: host.Ref{ID: m.Revision, Name: m.Name},
		Archive: m.Archive, Name: d.Name, Zone: d.Zone}
	return w, configKey(m.Project, d.Digest)
}

func (db *DB) configOf(ctx context.Context, it item) (*param.Map, error) {
	b, err := db.large(ctx, it, aConfig, aConfigBlob)
	if err != nil {
		return nil, err
	}
	m, err := treeOf(b)
	if err != nil {
		return nil, fmt.Errorf("decode definition %s: %w", it.str(aPartition), err)
	}
	return m, nil
}
