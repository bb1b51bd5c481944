// Command packaging builds the parts of a release: archives, deb and rpm, a container image, packages for npm and PyPI,
// a Homebrew formula, an install script, bills of materials, checksums and their signature. From the same commit it
// builds the same bytes each time, on any machine with the same Go version.
//
// `make release-snapshot` calls it in the root of the repository. It sends nothing anywhere.
package main

import (
	"crypto/ecdsa"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is the release being built.
type release struct {
	version string
	out     string // the folder for the results
	targets []target
	nfpm    string            // the command that builds deb and rpm, its words separated by spaces
	base    string            // a folder with the OCI layout of the image to build on; "" is an empty image
	url     string            // where the results will be; "" if not known yet
	key     *ecdsa.PrivateKey // signs the checksums; nil: they are not signed
	time    time.Time
}

// target is a system and its processor, in Go's words.
type target struct{ system, processor string }

func (t target) String() string { return t.system + "_" + t.processor }

func (t target) program() string {
	if t.system == "windows" {
		return "zerodag.exe"
	}
	return "zerodag"
}

func main() {
	var r release
	var targets string
	flag.StringVar(&r.version, "version", "", "the version to release, without a v")
	flag.StringVar(&r.out, "out", "dist", "the folder to write to; its content is deleted")
	flag.StringVar(&targets, "targets", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64", "operating systems and processors")
	flag.StringVar(&r.nfpm, "nfpm", "", "the command that builds deb and rpm packages")
	flag.StringVar(&r.base, "base", "", "the folder with the OCI layout of the base image")
	flag.StringVar(&r.url, "url", "", "the location of the published files")
	flag.Parse()
	err := r.read(targets)
	if err == nil {
		err = r.make()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// read checks the command line.
func (r *release) read(targets string) error {
	if r.version == "" || r.nfpm == "" {
		return errors.New("-version and -nfpm are required: make release-snapshot sets them")
	}
	for pair := range strings.FieldsSeq(targets) {
		system, processor, found := strings.Cut(pair, "/")
		if !found {
			return fmt.Errorf("-targets: %q is not SYSTEM/PROCESSOR", pair)
		}
		r.targets = append(r.targets, target{system, processor})
	}
	var err error
	if r.key, err = signingKey(os.Getenv("ZERODAG_SIGNING_KEY")); err != nil {
		return err
	}
	if r.base != "" {
		if _, err = os.Stat(filepath.Join(r.base, "index.json")); err != nil {
			return fmt.Errorf("-base: the base is not an OCI layout: %w", err)
		}
	}
	r.time, err = commitTime()
	return err
}

// commitTime returns when the commit was made: the time of everything in a release.
func commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("read the time of the commit from git (without git, set SOURCE_DATE_EPOCH): %w", err)
		}
		text = string(out)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// make builds everything, ending with the checksums and their signature.
func (r *release) make() error {
	if err := errors.Join(r.clear(), os.MkdirAll(r.shared(), 0o755)); err != nil { // #nosec G301 -- what is released is public
		return err
	}
	for _, t := range r.targets {
		if err := r.build(t); err != nil {
			return err
		}
	}
	steps := []func() error{r.pages, r.archives, r.packages, r.images, r.materials, r.npmPackages, r.wheels, r.formula, r.installer, r.checksums, r.sign}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return os.RemoveAll(r.work())
}

// clear deletes an earlier release, and nothing else, since users name the folder by hand.
func (r *release) clear() error {
	entries, err := os.ReadDir(r.out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !slices.Contains([]string{"work", sumsName, signatureName, publicName, formulaName, installerName}, name) &&
			!strings.HasPrefix(name, "zerodag_") && !strings.HasPrefix(name, "zerodag-") {
			return fmt.Errorf("-out: %s contains %s, which does not belong to a release: name a different folder", r.out, name)
		}
	}
	return os.RemoveAll(r.out)
}

// work returns the folder for temporary files.
func (r *release) work() string { return filepath.Join(r.out, "work") }

// built returns the folder of a target's program.
func (r *release) built(t target) string { return filepath.Join(r.work(), t.String()) }

// shared returns the folder for files that are the same for all targets: the manual page and the completions.
func (r *release) shared() string { return filepath.Join(r.work(), "shared") }

// name returns the path of a result.
func (r *release) name(t target, ending string) string {
	return filepath.Join(r.out, "zerodag_"+r.version+"_"+t.String()+ending)
}

// build compiles the program for a target, with the same bytes wherever the repository is.
func (r *release) build(t target) error {
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.linked="+r.version,
		"-o", filepath.Join(r.built(t), t.program()), "./cmd/zerodag")
	c.Env = append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.processor, "CGO_ENABLED=0")
	return run(c)
}

func run(c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
	}
	return nil
}

// here returns the program for this machine, which generates its own documents.
func (r *release) here() (string, error) {
	t := target{runtime.GOOS, runtime.GOARCH}
	path := filepath.Join(r.built(t), t.program())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, r.build(t)
}
