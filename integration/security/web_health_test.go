package security

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// smallDisk mounts a disk of 16 MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder).CombinedOutput(); err != nil {
		required(t, "mount", fmt.Sprintf("a disk cannot be made: %v %s", err, out))
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", folder).Run() })
	return folder
}

// TestL9_Health checks that the health endpoint fails with a short reason and no path while the server cannot write,
// and recovers once it can.
func TestL9_Health(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	s := serve(t, "-o", filepath.Join(disk, "data"))
	health := func(status int, word string) {
		t.Helper()
		var a answer
		deadline := time.Now().Add(20 * time.Second)
		for a = s.call(http.MethodGet, "/api/health", nil); a.Status != status && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			a = s.call(http.MethodGet, "/api/health", nil)
		}
		if a.Status != status || !strings.Contains(a.Body, word) || strings.Contains(a.Body, disk) {
			t.Errorf("health: %d %s, want %d with %s", a.Status, a.Body, status, word)
		}
	}
	health(200, "ok")
	full := filepath.Join(disk, "full")
	f, err := os.Create(full)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	health(503, `"reason":"disk-full"`)
	if a := s.call(http.MethodPut, "/api/projects?project=p&revision=r", archive(daily), "Content-Type", "application/gzip"); a.Status/100 != 5 || strings.Contains(a.Body, disk) {
		t.Errorf("a push onto a full disk: %d %s", a.Status, a.Body)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	health(200, "ok")
	if left, _ := filepath.Glob(filepath.Join(disk, "data", "*", ".health-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestL9_Paths checks that no response about an invalid project names a folder of the server.
func TestL9_Paths(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	s := serve(t, "-X", "tmpdir="+temp)
	pushed := func(name string, archive []byte) {
		a := s.call(http.MethodPut, "/api/projects?project=p&revision="+name, archive, "Content-Type", "application/gzip")
		for _, folder := range []string{s.folder, temp, os.TempDir()} {
			if strings.Contains(a.Body, folder) {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
	}
	folders, err := filepath.Glob("../badprojects/*")
	if err != nil || len(folders) < 50 {
		t.Fatal(err, len(folders))
	}
	for _, folder := range folders {
		files := map[string]string{}
		err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			name, _ := filepath.Rel(folder, path)
			files[filepath.ToSlash(name)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		pushed(filepath.Base(folder), archive(files))
	}
	for name, files := range map[string]map[string]string{
		"long":      {strings.Repeat("x", 300): "x"},
		"deep":      {strings.Repeat("x/", 3000) + "y": "x"},
		"twice":     {"a": "x", "a/b": "x"},
		"directory": {"main.dig": "+a: {!include : sub}\n", "sub/x.dig": "x"},
		"dots":      {"../x": "x"},
		"nul":       {"a\x00b": "x"},
		"digdir":    {"main.dig/x": "x"},
	} {
		pushed(name, archive(files))
	}
	whole := archive(daily)
	pushed("cut", whole[:len(whole)-9])
	pushed("none", []byte("x"))
}
