package limits_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"zerodag/internal/limits"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	exceeded := 0
	o := limits.NewOutput(&got, 5, func() { exceeded++ })
	for _, text := range []string{"abc", "def", "ghi"} {
		if n, err := o.Write([]byte(text)); n != 3 || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	o.Say("told %d", 1)
	o.Say("told %d", 2)
	if want := "abcde\nzerodag: told 1\nzerodag: told 2\n"; got.String() != want || exceeded != 1 {
		t.Errorf("got %q, want %q; told %d times", got.String(), want, exceeded)
	}
}

type broken struct{ calls int }

func (b *broken) Write([]byte) (int, error) { b.calls++; return 0, errors.New("full") }

// TestBrokenReceiver proves that a failing log does not block a command.
func TestBrokenReceiver(t *testing.T) {
	t.Parallel()
	b := &broken{}
	o := limits.NewOutput(b, 0, nil)
	for range 3 {
		if n, err := o.Write([]byte("x")); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if b.calls != 1 {
		t.Errorf("it was asked %d times", b.calls)
	}
}

func TestDisk(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name string, n int) {
		if err := os.WriteFile(filepath.Join(folder, name), bytes.Repeat([]byte("x"), n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before", 1<<20)
	for n, want := range map[int]bool{1000: false, 100_000: true} {
		os.Remove(filepath.Join(folder, "new"))
		d := limits.NewDisk(folder, 50_000)
		write("new", n)
		if got := d.Full(); got != want {
			t.Errorf("%d bytes more: full %v, want %v", n, got, want)
		}
	}
}

// TestDiskAtTheEnd proves that data that a command writes right before it ends counts, even if the folder was measured
// just before that.
func TestDiskAtTheEnd(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := limits.NewDisk(folder, 50_000)
	early := d.Full()
	if err := os.WriteFile(filepath.Join(folder, "new"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	if now, end := d.Full(), d.FullAtEnd(); early || now || !end {
		t.Errorf("before %v, in between %v, at the end %v", early, now, end)
	}
}

func TestReason(t *testing.T) {
	t.Parallel()
	var r limits.Reason
	r.Set("first")
	r.Set("second")
	if r.Get() != "first" {
		t.Errorf("got %q", r.Get())
	}
}
