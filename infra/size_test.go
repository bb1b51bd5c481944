package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// largestZip is what a function may weigh as it is uploaded: it is fetched at a cold start. Modules
// of the SDK that make nothing before main have more code for it (docs/adr/0020).
const largestZip = 16 << 20

// largestRunner is what the program of commands' machines may have: each fetches it.
const largestRunner = 8_000_000

// TestZips proves that each function is small as it is deployed: built for arm64 and packed
// as the CDK packs assets.
func TestZips(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: short")
	}
	s := settings{Architecture: "arm64", CommandArchitecture: "arm64", Assets: t.TempDir()}
	t.Chdir("..") // where the app runs
	if err := buildFunctions(s); err != nil {
		t.Fatal(err)
	}
	program, err := os.Stat(filepath.Join(s.Assets, programFile))
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("runner: %.1f MB", float64(program.Size())/1e6); program.Size() > largestRunner {
		t.Errorf("the runner has %d bytes, %d are allowed", program.Size(), largestRunner)
	}
	for _, f := range functions() {
		size := zipped(t, filepath.Join(s.Assets, f.name, "bootstrap"))
		t.Logf("%s: %.1f MB", f.name, float64(size)/1e6)
		if size > largestZip {
			t.Errorf("%s: the zip has %d bytes, %d are allowed: `go tool nm -size -sort size` shows what grew", f.name, size, largestZip)
		}
	}
}

// zipped is the size of a file in an archive of its own.
func zipped(t *testing.T, path string) int {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	out, err := w.Create("bootstrap")
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
