package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// foundation puts the layers of the base image for one processor into a layout. Without a base image, there are none.
func (r *release) foundation(l layout, t target) (config imageConfig, layers []descriptor, err error) {
	if r.base == "" {
		return config, nil, nil
	}
	text, err := os.ReadFile(filepath.Join(r.base, "index.json"))
	if err != nil {
		return config, nil, fmt.Errorf("the base is not an OCI layout: %w", err)
	}
	m, err := r.find(text, t)
	if err != nil {
		return config, nil, err
	}
	if text, err = r.blob(m.Config); err != nil {
		return config, nil, err
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return config, nil, fmt.Errorf("configuration of the base: %w", err)
	}
	if config.Architecture != t.processor || config.OS != t.system {
		return config, nil, fmt.Errorf("the base is for %s/%s", config.OS, config.Architecture)
	}
	if len(config.RootFS.Diffs) != len(m.Layers) {
		return config, nil, errors.New("the base does not list all of its layers")
	}
	for _, layer := range m.Layers {
		content, err := r.blob(layer)
		if err != nil {
			return config, nil, err
		}
		layers = append(layers, l.put(layer.MediaType, content))
	}
	return config, layers, nil
}

// find returns the manifest for a processor below an index, which may hold further indexes.
func (r *release) find(text []byte, t target) (manifest, error) {
	var list index
	if err := json.Unmarshal(text, &list); err != nil {
		return manifest{}, fmt.Errorf("index of the base: %w", err)
	}
	for _, d := range list.Manifests {
		if d.Platform != nil && *d.Platform != (platform{t.processor, t.system}) {
			continue
		}
		content, err := r.blob(d)
		if err != nil {
			return manifest{}, err
		}
		if strings.Contains(d.MediaType, "manifest.list") || strings.Contains(d.MediaType, "image.index") {
			if m, err := r.find(content, t); err == nil {
				return m, nil
			}
			continue
		}
		var m manifest
		err = json.Unmarshal(content, &m)
		return m, err
	}
	return manifest{}, fmt.Errorf("the base has no image for %s/%s", t.system, t.processor)
}

// blob reads the blob to which a descriptor refers, and nothing else.
func (r *release) blob(d descriptor) ([]byte, error) {
	name, found := strings.CutPrefix(d.Digest, "sha256:")
	if raw, err := hex.DecodeString(name); !found || err != nil || len(raw) != sha256.Size {
		return nil, fmt.Errorf("the base refers to %q, which is not a SHA-256 checksum", d.Digest)
	}
	content, err := os.ReadFile(filepath.Join(r.base, "blobs", "sha256", name))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("blob %s of the base is damaged", name)
	}
	return content, nil
}

// entries returns the files of a layout, by name.
func (l layout) entries() []entry {
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(l)) {
		entries = append(entries, entry{name: name, content: l[name], mode: 0o644})
	}
	return entries
}
