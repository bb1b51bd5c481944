package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	_ "embed" // for the directive below
)

// The results whose names do not begin like the names of the others.
const (
	sumsName      = "SHA256SUMS"
	formulaName   = "zerodag.rb"
	installerName = "install.sh"
)

//go:embed files/nfpm.yaml
var contents string

// packages builds a deb and an rpm for each Linux processor.
func (r *release) packages() error {
	for _, t := range r.targets {
		if t.system != "linux" {
			continue
		}
		config := filepath.Join(r.work(), t.String()+".yaml")
		values := map[string]string{"ARCH": t.processor, "VERSION": packageVersion(r.version), "TIME": r.time.Format(time.RFC3339), "BUILD": r.built(t), "SHARED": r.shared()}
		if err := write(config, []byte(os.Expand(contents, func(name string) string { return values[name] }))); err != nil {
			return err
		}
		for _, kind := range []string{"deb", "rpm"} {
			words := append(strings.Fields(r.nfpm), "package", "--config", config, "--packager", kind, "--target", r.name(t, "."+kind))
			c := exec.Command(words[0], words[1:]...) // #nosec G204 -- the Makefile names it
			c.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
			if err := run(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// packageVersion returns a version that dpkg and rpm order correctly: a build after a tag (1.2.3-4-gabc) is newer than
// the tag, and a candidate (1.2.3-rc.1) is older than the release.
func packageVersion(version string) string {
	base, rest, found := strings.Cut(version, "-")
	if !found {
		return version
	}
	if rest[0] >= '0' && rest[0] <= '9' {
		return base + "+" + strings.ReplaceAll(rest, "-", ".")
	}
	return base + "~" + strings.ReplaceAll(rest, "-", ".")
}

//go:embed files/zerodag.rb
var formula string

// formula writes the formula for Homebrew, with the checksums of the archives.
func (r *release) formula() error {
	sums := map[string]string{}
	for _, t := range r.targets {
		if t.system == "windows" {
			continue
		}
		sum, err := sumOf(r.name(t, ".tar.gz"))
		if err != nil {
			return err
		}
		sums[t.String()] = sum
	}
	page, err := template.New("zerodag.rb").Parse(formula)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := page.Execute(&text, map[string]any{"Version": r.version, "URL": r.url, "Sums": sums}); err != nil {
		return err
	}
	return write(filepath.Join(r.out, formulaName), []byte(text.String()))
}

func sumOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// checksums writes SHA256SUMS for all results, as `sha256sum --check` reads it.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		sum, err := sumOf(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, sum+"  "+e.Name()+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return write(filepath.Join(r.out, sumsName), []byte(strings.Join(lines, "")))
}
