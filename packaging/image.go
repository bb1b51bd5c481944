package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The types from the OCI image specification that are needed here.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type index struct {
	Schema    int          `json:"schemaVersion"`
	MediaType string       `json:"mediaType"`
	Manifests []descriptor `json:"manifests"`
}

type manifest struct {
	Schema    int          `json:"schemaVersion"`
	MediaType string       `json:"mediaType"`
	Config    descriptor   `json:"config"`
	Layers    []descriptor `json:"layers"`
}

type imageConfig struct {
	Created      time.Time       `json:"created"`
	Architecture string          `json:"architecture"`
	OS           string          `json:"os"`
	Config       containerConfig `json:"config"`
	RootFS       rootFS          `json:"rootfs"`
}

type containerConfig struct {
	User         string              `json:"User"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	WorkingDir   string              `json:"WorkingDir"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Volumes      map[string]struct{} `json:"Volumes"`
	Labels       map[string]string   `json:"Labels"`
	StopSignal   string              `json:"StopSignal"`
	Health       healthCheck         `json:"Healthcheck"`
}

// healthCheck is Docker's addition to the image specification; engines that do not know it ignore it.
type healthCheck struct {
	Test                           []string      `json:"Test"`
	Interval, Timeout, StartPeriod time.Duration // in nanoseconds
	Retries                        int
}

type rootFS struct {
	Type  string   `json:"type"`
	Diffs []string `json:"diff_ids"`
}

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
	user         = 65532 // the server's user in a container; unused in the base images
)

// layout is an image as a folder, which is packed into one file: blobs by their checksums.
type layout map[string][]byte

// put stores a blob and returns the reference to it.
func (l layout) put(kind string, content []byte) descriptor {
	sum := sha256.Sum256(content)
	name := hex.EncodeToString(sum[:])
	l["blobs/sha256/"+name] = content
	return descriptor{MediaType: kind, Digest: "sha256:" + name, Size: int64(len(content))}
}

func (l layout) putJSON(kind string, value any) (descriptor, error) {
	text, err := json.Marshal(value)
	return l.put(kind, text), err
}

// images builds one image for all Linux processors, as an OCI layout in a tar, which docker load, podman load, skopeo
// copy oci-archive: and crane push can read.
func (r *release) images() error {
	l := layout{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	var all []descriptor
	for _, t := range r.targets {
		if t.system != "linux" {
			continue
		}
		d, err := r.image(l, t)
		if err != nil {
			return fmt.Errorf("image for %s: %w", t, err)
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil
	}
	list, err := l.putJSON(indexType, index{Schema: 2, MediaType: indexType, Manifests: all})
	if err != nil {
		return err
	}
	list.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "zerodag:" + r.version}
	top, err := json.Marshal(index{Schema: 2, MediaType: indexType, Manifests: []descriptor{list}})
	if err != nil {
		return err
	}
	l["index.json"] = top
	var packed bytes.Buffer
	if err := writeTar(&packed, l.entries(), r.time); err != nil {
		return err
	}
	return write(filepath.Join(r.out, "zerodag_"+r.version+"_image.oci.tar"), packed.Bytes())
}

// image puts the image for one processor into a layout: the layers of its base, and a layer with the program.
func (r *release) image(l layout, t target) (descriptor, error) {
	below, layers, err := r.foundation(l, t)
	if err != nil {
		return descriptor{}, err
	}
	program, err := os.ReadFile(filepath.Join(r.built(t), t.program()))
	if err != nil {
		return descriptor{}, err
	}
	entries := r.own(program)
	var plain bytes.Buffer
	if err := writeTar(&plain, entries, r.time); err != nil {
		return descriptor{}, err
	}
	packed, err := packTarGz(entries, r.time)
	if err != nil {
		return descriptor{}, err
	}
	sum := sha256.Sum256(plain.Bytes())
	config := imageConfig{Created: r.time, Architecture: t.processor, OS: t.system,
		RootFS: rootFS{Type: "layers", Diffs: append(below.RootFS.Diffs, "sha256:"+hex.EncodeToString(sum[:]))},
		Config: containerConfig{User: fmt.Sprint(user), Env: below.Config.Env, Entrypoint: []string{"/usr/bin/zerodag"}, Cmd: []string{"server", "-o", "/var/lib/zerodag"},
			WorkingDir: "/var/lib/zerodag", ExposedPorts: map[string]struct{}{"65432/tcp": {}}, Volumes: map[string]struct{}{"/var/lib/zerodag": {}},
			Health:     healthCheck{Test: []string{"CMD", "/usr/bin/zerodag", "admin", "ready"}, Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3},
			StopSignal: "SIGTERM", Labels: map[string]string{"org.opencontainers.image.title": "zerodag", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"}}}
	if len(config.Config.Env) == 0 {
		config.Config.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	}
	described, err := l.putJSON(configType, config)
	if err != nil {
		return descriptor{}, err
	}
	d, err := l.putJSON(manifestType, manifest{Schema: 2, MediaType: manifestType, Config: described, Layers: append(layers, l.put(layerType, packed))})
	d.Platform = &platform{t.processor, t.system}
	return d, err
}
