package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Build puts the program into a folder of the test and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "zerodag")
	if err := build(program); err != nil {
		t.Fatal(err)
	}
	return program
}

// build puts the program at a path. Linking it takes ten seconds of processor time, and two dozen tests of a dozen
// packages need it: the first of them keeps it for the others, identified by its inputs.
func build(program string) error {
	kept, err := keptBuild()
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if os.Link(kept, program) == nil {
		return nil
	}
	return copyFile(kept, program) // another file system
}

// mostKept is how many builds are kept: the build of the last change, and a few earlier ones for switching between
// changes.
const mostKept = 3

// keptBuild returns the path of the program built from the current sources.
func keptBuild() (string, error) {
	made, err := exec.Command("go", "list", "-deps", "-export", "-f", "{{.ImportPath}} {{.BuildID}}", "zerodag/cmd/zerodag").Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "zerodag", "tests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	sum := sha256.Sum256(made)
	kept := filepath.Join(folder, "zerodag-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(kept); err == nil {
		return kept, nil
	}
	if out, err := exec.Command("go", "build", "-o", kept+".new", "zerodag/cmd/zerodag").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	if err := os.Rename(kept+".new", kept); err != nil {
		return "", err
	}
	return kept, forget(folder, kept)
}

// forget removes all but the newest builds.
func forget(folder, kept string) error {
	builds, err := filepath.Glob(filepath.Join(folder, "zerodag-*"))
	if err != nil {
		return err
	}
	made := func(name string) time.Time {
		info, err := os.Stat(name)
		if err != nil {
			return time.Time{}
		}
		return info.ModTime()
	}
	slices.SortFunc(builds, func(a, b string) int { return made(b).Compare(made(a)) })
	for _, old := range builds[min(mostKept, len(builds)):] {
		if old != kept {
			err = errors.Join(err, os.Remove(old))
		}
	}
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) // #nosec G302 -- a program, which other users of a test run, too
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
