package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The bill of materials of a program, in the words of CycloneDX 1.6.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
}

// materials writes for each target what its program was linked from, as the program itself says.
func (r *release) materials() error {
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(filepath.Join(r.built(t), t.program()))
		if err != nil {
			return err
		}
		b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Components: []component{part("std", strings.TrimPrefix(info.GoVersion, "go"))},
			Metadata: metadata{Timestamp: r.time.Format("2006-01-02T15:04:05Z"), Component: component{Type: "application", Name: "zerodag", Version: r.version}}}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			b.Components = append(b.Components, part(m.Path, m.Version))
		}
		// What npm brought is embedded as text, so that Go does not know of it.
		for _, file := range []string{"engine/expr/assets/package-lock.json", "ui/package-lock.json"} {
			locked, err := lockedParts(file)
			if err != nil {
				return err
			}
			b.Components = append(b.Components, locked...)
		}
		text, err := json.MarshalIndent(b, "", "  ")
		if err != nil {
			return err
		}
		if err := write(r.name(t, ".cdx.json"), append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// part is a module of Go.
func part(path, version string) component {
	return component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
}

// lockedParts are the packages that npm's lock file names, in the order of their names: those that are shipped, not
// those that only build or test.
func lockedParts(file string) ([]component, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version  string `json:"version"`
			Dev      bool   `json:"dev"`
			Optional bool   `json:"optional"`
			Peer     bool   `json:"peer"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var list []component
	for _, folder := range slices.Sorted(maps.Keys(lock.Packages)) {
		p := lock.Packages[folder]
		if folder == "" || p.Dev || p.Optional || p.Peer {
			continue
		}
		name := folder[strings.LastIndex(folder, "node_modules/")+len("node_modules/"):]
		if p.Version == "" {
			return nil, fmt.Errorf("%s names no version of %s", file, name)
		}
		list = append(list, component{Type: "library", Name: name, Version: p.Version, PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names no package", file)
	}
	return list, nil
}
