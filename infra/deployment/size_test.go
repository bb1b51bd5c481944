package deployment

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zerodag/infra/settings"
	"zerodag/internal/env"
)

// largestZip returns the maximum size of a function's package, in bytes, because it is fetched at a cold start. A
// function links only what it runs (docs/adr/0021).
func largestZip(name string) int {
	switch name {
	case "agent": // all operators, with drivers of two databases, SSH and Treasure Data, and the program that evaluates expressions
		return 13_000_000
	case "executor": // the program that evaluates expressions, and operators without I/O
		return 10_200_000
	}
	return 8_300_000
}

// largestRunner is the maximum size of the machines' program in bytes, because each machine fetches it.
const largestRunner = 8_000_000

// TestZips checks that each function is small in its deployed form: built for arm64 and packed like the CDK's assets.
func TestZips(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	s, assets := settings.Default("main"), t.TempDir()
	s.CommandArchitecture = "arm64"
	if err := Build(s, assets); err != nil {
		t.Fatal(err)
	}
	program, err := os.Stat(filepath.Join(assets, programFile))
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("runner: %.1f MB", float64(program.Size())/1e6); program.Size() > largestRunner {
		t.Errorf("the runner is %d bytes, %d are allowed", program.Size(), largestRunner)
	}
	for _, f := range functions() {
		carriesBill(t, filepath.Join(assets, f.name), f)
		carriesNoPages(t, filepath.Join(assets, f.name))
		size := zipped(t, filepath.Join(assets, f.name))
		t.Logf("%s: %.1f MB", f.name, float64(size)/1e6)
		if most := largestZip(f.name); size > most {
			t.Errorf("%s: the zip is %d bytes, %d are allowed: `go tool nm -size -sort size` shows what grew", f.name, size, most)
		}
	}
}

// carriesBill checks that a function has the bill of materials of each of its programs, including embedded npm
// packages.
func carriesBill(t *testing.T, folder string, f function) {
	t.Helper()
	programs := []string{"bootstrap"}
	if f.operators {
		programs = append(programs, env.Evaluator)
	}
	all := ""
	for _, program := range programs {
		text, err := os.ReadFile(filepath.Join(folder, program+".cdx.json"))
		if err != nil {
			t.Error(err)
		}
		all += string(text)
	}
	for purl, wanted := range map[string]bool{"pkg:golang/github.com/aws/aws-lambda-go@": true, "pkg:npm/moment@": f.operators, "pkg:npm/react@": f.name == "api"} {
		if strings.Contains(all, purl) != wanted {
			t.Errorf("%s: %s is in its bill: %v", f.name, purl, !wanted)
		}
	}
}

// carriesNoPages checks that only the command line contains the pages for users, and that functions do not: the package
// with the pages also contains the description of the API.
func carriesNoPages(t *testing.T, folder string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has %d files: %v", folder, len(files), err)
	}
	for _, name := range files {
		program, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(program, page[:200]) {
			t.Errorf("%s carries the pages for users", name)
		}
	}
}

// zipped returns the size of an archive that contains a folder's files.
func zipped(t *testing.T, folder string) int {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	if err := w.AddFS(os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
