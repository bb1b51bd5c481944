// Package materials writes bills of materials of programs: the modules that a program was linked from, as recorded in
// the program itself, and the npm packages that it embeds. The format is CycloneDX 1.6 as JSON
// (https://cyclonedx.org/docs/1.6/json/).
package materials

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Subject describes the program of a bill.
type Subject struct {
	Name    string
	Version string    // "" for a program without a version
	Built   time.Time // zero: the bill has no time, so that it depends only on the program
}

type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

// Bill returns a program's bill of materials. Locks are npm lock files (package-lock.json) of packages that the program
// embeds as text, which Go's build information does not contain.
func Bill(program string, of Subject, locks ...string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what %s was built from: %w", program, err)
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Components: []component{module("std", strings.TrimPrefix(info.GoVersion, "go"))},
		Metadata: metadata{Component: component{Type: "application", Name: of.Name, Version: of.Version}}}
	if !of.Built.IsZero() {
		b.Metadata.Timestamp = of.Built.UTC().Format("2006-01-02T15:04:05Z")
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, module(m.Path, m.Version))
	}
	for _, file := range locks {
		locked, err := locked(file)
		if err != nil {
			return nil, err
		}
		b.Components = append(b.Components, locked...)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

// module returns the component for a Go module.
func module(path, version string) component {
	return component{Type: "library", Name: path, Version: version, PURL: "pkg:golang/" + path + "@" + version}
}

// locked returns the packages of an npm lock file by name, without development dependencies.
func locked(file string) ([]component, error) {
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
			return nil, fmt.Errorf("%s does not specify a version of %s", file, name)
		}
		list = append(list, component{Type: "library", Name: name, Version: p.Version, PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s does not specify a package", file)
	}
	return list, nil
}
