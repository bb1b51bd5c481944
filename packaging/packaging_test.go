package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPackageVersion checks that dpkg orders builds before, at and after a tag chronologically.
func TestPackageVersion(t *testing.T) {
	t.Parallel()
	order := []string{"1.2.2", "1.2.3-rc.1", "1.2.3-rc.2", "1.2.3", "1.2.3-4-gabc1234", "1.2.4"}
	for _, v := range order {
		if got := packageVersion(v); strings.ContainsAny(got, "-_ ") {
			t.Errorf("%s becomes %s, which no packager takes", v, got)
		}
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("NOT TESTED: dpkg is not on this machine")
	}
	for i, v := range order[1:] {
		if err := exec.Command("dpkg", "--compare-versions", packageVersion(order[i]), "lt", packageVersion(v)).Run(); err != nil {
			t.Errorf("%s is not before %s", order[i], v)
		}
	}
}

// TestManual checks that no line of the help is read as a request to the formatter.
func TestManual(t *testing.T) {
	t.Parallel()
	got := string(manual("1.2.3", "2026-01-02", ".so /etc/passwd\n'x\n  --flag a\\b\n"))
	for _, want := range []string{"\\&.so /etc/passwd\n", "\\&'x\n", "  \\-\\-flag a\\eb\n", ".TH ZERODAG 1 \"2026-01-02\" \"zerodag 1.2.3\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
}

// TestArchivesAreTheSame checks that neither the user nor the clock of a machine gets into an archive.
func TestArchivesAreTheSame(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	entries := []entry{{name: "a", content: []byte("text"), mode: 0o755}}
	content, err := packTarGz(entries, at)
	if err != nil {
		t.Fatal(err)
	}
	again, err := packTarGz(entries, at.In(time.FixedZone("elsewhere", 3600)))
	if err != nil || !bytes.Equal(content, again) {
		t.Errorf("two archives differ: %v", err)
	}
	z, err := packZip(entries, at.UTC())
	if err != nil || len(z) == 0 {
		t.Errorf("zip: %v", err)
	}
}

// program puts a stand-in for the program of a target where the build would.
func program(t *testing.T, r *release, target target) {
	t.Helper()
	if err := os.MkdirAll(r.built(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.built(target), target.program()), []byte("program of "+target.String()), 0o755); err != nil {
		t.Fatal(err)
	}
}

// base writes an OCI layout with one layer for each processor, below an index, as in registries.
func base(t *testing.T, targets ...target) string {
	t.Helper()
	folder, l := t.TempDir(), layout{}
	var all []descriptor
	for _, target := range targets {
		layer := l.put(layerType, []byte("layer of "+target.String()))
		config, err := l.putJSON(configType, imageConfig{Architecture: target.processor, OS: target.system,
			Config: containerConfig{Env: []string{"PATH=/below"}}, RootFS: rootFS{Type: "layers", Diffs: []string{"sha256:" + strings.Repeat("0", 64)}}})
		if err != nil {
			t.Fatal(err)
		}
		d, err := l.putJSON(manifestType, manifest{Schema: 2, MediaType: manifestType, Config: config, Layers: []descriptor{layer}})
		if err != nil {
			t.Fatal(err)
		}
		d.Platform = &platform{target.processor, target.system}
		all = append(all, d)
	}
	inner, err := l.putJSON(indexType, index{Schema: 2, MediaType: indexType, Manifests: all})
	if err != nil {
		t.Fatal(err)
	}
	top, err := json.Marshal(index{Schema: 2, MediaType: indexType, Manifests: []descriptor{inner}})
	if err != nil {
		t.Fatal(err)
	}
	l["index.json"] = top
	for name, content := range l {
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// unpacked reads the image that was built.
func unpacked(t *testing.T, r *release) layout {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.out, "zerodag_"+r.version+"_image.oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	l, tr := layout{}, tar.NewReader(bytes.NewReader(text))
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		if l[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

func (l layout) read(t *testing.T, d descriptor, to any) {
	t.Helper()
	content, found := l["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if !found || int64(len(content)) != d.Size {
		t.Fatalf("%s: %d bytes, want %d", d.Digest, len(content), d.Size)
	}
	if err := json.Unmarshal(content, to); err != nil {
		t.Fatal(err)
	}
}

// files returns the regular files of a layer that was made here.
func (l layout) files(t *testing.T, d descriptor) map[string][]byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(l["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]))
	if err != nil {
		t.Fatal(err)
	}
	files, tr := map[string][]byte{}, tar.NewReader(zipped)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if files[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

// TestImage checks that the image has, for each Linux processor, the layers of its base and one more layer, that every
// reference resolves, that the server does not run as root in it and its health is checked, and that an image without a
// base has root certificates and users.
func TestImage(t *testing.T) {
	t.Parallel()
	amd, arm := target{"linux", "amd64"}, target{"linux", "arm64"}
	for _, below := range []int{0, 1} {
		r := &release{version: "1.2.3", out: t.TempDir(), targets: []target{amd, arm, {"windows", "amd64"}}, time: time.Unix(1_700_000_000, 0)}
		program(t, r, amd)
		program(t, r, arm)
		if below == 1 {
			r.base = base(t, arm, amd)
		}
		if err := r.images(); err != nil {
			t.Fatal(err)
		}
		l := unpacked(t, r)
		var top, list index
		if err := json.Unmarshal(l["index.json"], &top); err != nil || len(top.Manifests) != 1 {
			t.Fatalf("index: %v, %s", err, l["index.json"])
		}
		l.read(t, top.Manifests[0], &list)
		seen := map[string]bool{}
		for _, d := range list.Manifests {
			var m manifest
			var config imageConfig
			l.read(t, d, &m)
			l.read(t, m.Config, &config)
			seen[d.Platform.Architecture] = true
			if len(m.Layers) != 1+below || len(config.RootFS.Diffs) != 1+below || config.Config.User != "65532" || config.Architecture != d.Platform.Architecture {
				t.Errorf("%d below: %d layers, configuration %+v", below, len(m.Layers), config)
			}
			if got, want := strings.Join(config.Config.Health.Test, " "), "CMD /usr/bin/zerodag admin ready"; got != want || config.Config.Health.Interval != 30*time.Second {
				t.Errorf("its health check is %+v, want %s", config.Config.Health, want)
			}
			files := l.files(t, m.Layers[below])
			if pool := x509.NewCertPool(); (below == 0) != pool.AppendCertsFromPEM(files[certificatesFile]) || below == 0 && strings.Count(string(files[certificatesFile]), "BEGIN") < 100 {
				t.Errorf("%d below: %d bytes of certificates", below, len(files[certificatesFile]))
			}
			if (below == 0) != strings.Contains(string(files["etc/passwd"]), "zerodag:x:65532:65532:") || string(files["usr/bin/zerodag"]) != "program of linux_"+d.Platform.Architecture {
				t.Errorf("%d below: users %q, program %q", below, files["etc/passwd"], files["usr/bin/zerodag"])
			}
			if below == 1 && (config.Config.Env[0] != "PATH=/below" || string(l["blobs/sha256/"+m.Layers[0].Digest[7:]]) != "layer of linux_"+d.Platform.Architecture) {
				t.Errorf("it is built on another image: %+v", config)
			}
		}
		if !maps.Equal(seen, map[string]bool{"amd64": true, "arm64": true}) {
			t.Errorf("it is for %v", seen)
		}
	}
}

// TestBaseIsChecked checks that an image is never built on a base that is damaged, leads out of its folder, or is for a
// different processor.
func TestBaseIsChecked(t *testing.T) {
	t.Parallel()
	amd, arm := target{"linux", "amd64"}, target{"linux", "arm64"}
	r := &release{version: "1.2.3", out: t.TempDir(), targets: []target{amd}, base: base(t, arm)}
	program(t, r, amd)
	if err := r.images(); err == nil || !strings.Contains(err.Error(), "no image for linux/amd64") {
		t.Errorf("another processor: %v", err)
	}
	r.base = base(t, amd)
	blobs, err := filepath.Glob(filepath.Join(r.base, "blobs/sha256/*"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(err)
	}
	for _, b := range blobs {
		if err := os.WriteFile(b, []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.images(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged: %v", err)
	}
	if _, err := r.blob(descriptor{Digest: "sha256:../../../etc/passwd"}); err == nil || !strings.Contains(err.Error(), "not a SHA-256 checksum") {
		t.Errorf("a path for a sum: %v", err)
	}
}

// TestFormula checks that Homebrew gets the checksum of every archive that it can install.
func TestFormula(t *testing.T) {
	t.Parallel()
	r := &release{version: "1.2.3", out: t.TempDir(), targets: []target{{"linux", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}}
	for _, target := range r.targets {
		if err := os.WriteFile(r.name(target, ".tar.gz"), []byte(target.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.formula(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "zerodag.rb"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := sumOf(r.name(target{"darwin", "arm64"}, ".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"if OS.mac? && Hardware::CPU.arm?", "if OS.linux? && Hardware::CPU.intel?", sum, "/zerodag_1.2.3_darwin_arm64.tar.gz"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "windows") {
		t.Error("Homebrew is offered Windows")
	}
}

// TestChecksums checks that sha256sum accepts the checksums, which are in the order of names.
func TestChecksums(t *testing.T) {
	t.Parallel()
	r := &release{out: t.TempDir()}
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(r.out, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.checksums(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.out, "SHA256SUMS"))
	const want = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestClear checks that only an earlier release is deleted, never a folder that was named by mistake.
func TestClear(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"SHA256SUMS": true, "zerodag_1.2.3_linux_amd64.deb": true, "zerodag.rb": true, "main.go": false, "work": true} {
		r := &release{out: t.TempDir()}
		if err := os.WriteFile(filepath.Join(r.out, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		err := r.clear()
		if _, e := os.Stat(r.out); (err == nil) != want || (e != nil) != want {
			t.Errorf("%s: %v, and the folder is there: %v", name, err, e == nil)
		}
	}
	if err := (&release{out: filepath.Join(t.TempDir(), "none")}).clear(); err != nil {
		t.Error(err)
	}
}
