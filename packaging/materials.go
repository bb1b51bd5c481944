package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
		// moment is embedded as text, so that Go does not know of it.
		moment, err := lockedMoment("engine/expr/assets/package-lock.json")
		if err != nil {
			return err
		}
		b.Components = append(b.Components, component{Type: "library", Name: "moment", Version: moment, PURL: "pkg:npm/moment@" + moment})
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

// lockedMoment is the version of moment that npm's lock file names.
func lockedMoment(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	version := lock.Packages["node_modules/moment"].Version
	if version == "" {
		return "", fmt.Errorf("%s names no version of moment", file)
	}
	return version, nil
}
