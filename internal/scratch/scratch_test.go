package scratch_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"zerodag/internal/scratch"
	"zerodag/operators"
)

func strict(t *testing.T) scratch.Strict {
	t.Helper()
	return scratch.Strict{Root: t.TempDir(), Command: operators.Command{Scratch: "tmp/x", Files: map[string][]byte{"run.sh": []byte("text")}, Outputs: []string{"out", "none"}}}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	s := strict(t)
	for range 2 { // nothing is left of an interrupted run
		if err := s.Fill(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(s.Root, "tmp/x/out")); err == nil {
			t.Error("the output of an earlier run is there")
		}
		if err := os.WriteFile(filepath.Join(s.Root, "tmp/x/out"), []byte("5"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Outputs()
	if err != nil || len(got) != 1 || string(got["out"]) != "5" {
		t.Errorf("got %q, %v", got, err)
	}
	if text, err := os.ReadFile(filepath.Join(s.Root, "tmp/x/run.sh")); err != nil || string(text) != "text" {
		t.Errorf("got %q, %v", text, err)
	}
	s.Remove()
	if _, err := os.Stat(filepath.Join(s.Root, "tmp/x")); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestStrictFollowsNoLink proves that links left by a command are not followed.
func TestStrictFollowsNoLink(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s scratch.Strict, outside string) error{
		"output is a link": func(s scratch.Strict, outside string) error {
			return os.Symlink(filepath.Join(outside, "out"), filepath.Join(s.Root, "tmp/x/out"))
		},
		"output is a pipe": func(s scratch.Strict, _ string) error {
			return syscall.Mkfifo(filepath.Join(s.Root, "tmp/x/out"), 0o600)
		},
		"folder is a link": func(s scratch.Strict, outside string) error {
			if err := os.RemoveAll(filepath.Join(s.Root, "tmp")); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(s.Root, "tmp"))
		},
	} {
		s, outside := strict(t), t.TempDir()
		if err := os.MkdirAll(filepath.Join(outside, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"out", "x/out", "x/kept"} {
			if err := os.WriteFile(filepath.Join(outside, file), []byte("theirs"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Fill(); err != nil {
			t.Fatal(err)
		}
		if err := leave(s, outside); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Outputs(); err == nil {
			t.Errorf("%s: got %q", name, got)
		}
		s.Remove()
		s.Fill() // it may fail, but write nowhere else
		if err := scratch.Give(s.Root, os.Getuid(), os.Getgid()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		entries, err := os.ReadDir(filepath.Join(outside, "x"))
		if err != nil || len(entries) != 2 {
			t.Errorf("%s: outside there are %v, %v", name, entries, err)
		}
	}
}

func TestTooLargeOutput(t *testing.T) {
	t.Parallel()
	s := strict(t)
	if err := s.Fill(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Root, "tmp/x/out"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(s.Root, "tmp/x/out"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Outputs(); err == nil || !strings.Contains(err.Error(), "out: it is 1073741824 bytes") {
		t.Errorf("got %v", err)
	}
}
