package main

import (
	"crypto/sha256"
	_ "embed" // for the directives below
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed files/install.sh
var installer string

// installer writes the script that installs a release over the network. The script contains the public key: a user who
// got it from a trusted source cannot be given a different program.
func (r *release) installer() error {
	key, err := r.publicKey()
	if err != nil {
		return err
	}
	script, err := template.New(installerName).Parse(installer)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := script.Execute(&text, map[string]string{"Version": r.version, "URL": r.url, "Key": key}); err != nil {
		return err
	}
	return write(filepath.Join(r.out, installerName), []byte(text.String()))
}

// packageTexts are the descriptions in registries.
const (
	summary  = "Workflow engine for data and batch jobs, compatible with Digdag"
	homepage = "https://docs.digdag.io"
)

//go:embed files/npm.js
var launcher []byte

// npmName returns the npm package with the program of a target, named as Node names systems and processors.
func npmName(t target) string {
	system, processor := t.system, t.processor
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return "@zerodag/" + system + "-" + processor
}

// npmPackages builds a package for each target, and the package for users, to which npm adds the one for their system.
func (r *release) npmPackages() error {
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	all := map[string]string{}
	for _, t := range r.targets {
		program, err := os.ReadFile(filepath.Join(r.built(t), t.program()))
		if err != nil {
			return err
		}
		name := npmName(t)
		all[name] = r.version
		system, processor, _ := strings.Cut(strings.TrimPrefix(name, "@zerodag/"), "-")
		if err := r.npm(r.name(t, ".npm.tgz"), map[string]any{"name": name, "os": []string{system}, "cpu": []string{processor}},
			entry{name: "package/" + t.program(), content: program, mode: 0o755}, entry{name: "package/LICENSE", content: license, mode: 0o644}); err != nil {
			return err
		}
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	return r.npm(filepath.Join(r.out, "zerodag_"+r.version+"_npm.tgz"),
		map[string]any{"name": "zerodag", "bin": map[string]string{"zerodag": "zerodag.js"}, "optionalDependencies": all, "engines": map[string]string{"node": ">=18"}},
		entry{name: "package/zerodag.js", content: launcher, mode: 0o755}, entry{name: "package/README.md", content: readme, mode: 0o644},
		entry{name: "package/LICENSE", content: license, mode: 0o644})
}

// npm writes a package with these fields in its package.json.
func (r *release) npm(path string, fields map[string]any, files ...entry) error {
	fields["version"], fields["description"], fields["homepage"], fields["license"] = r.version, summary, homepage, "Apache-2.0"
	text, err := json.MarshalIndent(fields, "", "  ")
	if err != nil {
		return err
	}
	packed, err := packTarGz(append([]entry{{name: "package/package.json", content: append(text, '\n'), mode: 0o644}}, files...), r.time)
	if err != nil {
		return err
	}
	return write(path, packed)
}

// wheelTag returns the platform of a wheel. The program for Linux is linked statically, so it suits every C library.
func wheelTag(t target) (string, error) {
	processor := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.processor]
	switch t.system {
	case "linux":
		return "manylinux_2_17_" + processor + ".manylinux2014_" + processor + ".musllinux_1_1_" + processor, nil
	case "darwin":
		return "macosx_12_0_" + strings.Replace(processor, "aarch64", "arm64", 1), nil // Go 1.26 needs macOS 12
	case "windows":
		return "win_" + t.processor, nil
	}
	return "", fmt.Errorf("no wheel is known for %s", t)
}

// pythonVersion returns a version in PEP 440 format: 1.2.3-rc.1 becomes 1.2.3rc1, and a build after a tag becomes
// a local version.
func pythonVersion(version string) string {
	base, rest, found := strings.Cut(version, "-")
	switch {
	case !found:
		return version
	case rest[0] >= '0' && rest[0] <= '9':
		count, commit, _ := strings.Cut(rest, "-")
		return strings.TrimSuffix(base+".post"+count+"+"+commit, "+")
	}
	return base + strings.ReplaceAll(rest, ".", "")
}

// wheels builds a Python package for each target, whose script is the program.
func (r *release) wheels() error {
	version := pythonVersion(r.version)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		return err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		tag, err := wheelTag(t)
		if err != nil {
			return err
		}
		program, err := os.ReadFile(filepath.Join(r.built(t), t.program()))
		if err != nil {
			return err
		}
		info := "zerodag-" + version + ".dist-info/"
		wheel := "Wheel-Version: 1.0\nGenerator: zerodag\nRoot-Is-Purelib: false\n"
		for one := range strings.SplitSeq(tag, ".") {
			wheel += "Tag: py3-none-" + one + "\n"
		}
		entries := []entry{
			{name: "zerodag-" + version + ".data/scripts/" + t.program(), content: program, mode: 0o755},
			{name: info + "licenses/LICENSE", content: license, mode: 0o644},
			{name: info + "METADATA", content: []byte("Metadata-Version: 2.1\nName: zerodag\nVersion: " + version + "\nSummary: " + summary + "\nHome-page: " + homepage +
				"\nLicense: Apache-2.0\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n" + string(readme)), mode: 0o644},
			{name: info + "WHEEL", content: []byte(wheel), mode: 0o644},
		}
		packed, err := packZip(append(entries, entry{name: info + "RECORD", content: wheelRecord(entries, info), mode: 0o644}), r.time)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(r.out, "zerodag-"+version+"-py3-none-"+tag+".whl"), packed); err != nil {
			return err
		}
	}
	return nil
}

// wheelRecord lists the files of a wheel with their checksums, and itself without one.
func wheelRecord(entries []entry, info string) []byte {
	var b strings.Builder
	for _, e := range entries {
		sum := sha256.Sum256(e.content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.content))
	}
	b.WriteString(info + "RECORD,,\n")
	return []byte(b.String())
}
