// Package pictures sees the command line as a user does: it runs the real program in a terminal of a given size,
// emulates the terminal's screen, and stores it as text for tests (testdata) and as the pictures of the README. It must
// never read anything of the program except its screen and its exit code.
package pictures

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// Size is the size of a terminal in characters.
type Size struct{ Columns, Lines int }

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Columns, s.Lines) }

// Screen is a terminal in which one program runs.
type Screen struct {
	t       testing.TB
	command *exec.Cmd
	pty     *os.File
	changed chan struct{} // something was drawn since the last check
	ended   chan struct{} // closed when all output of the program has been drawn

	mu       sync.Mutex
	emulator *vt.Emulator
	cast     *Cast // nil: nothing is recorded
}

// prompt precedes a command that a user has typed.
const prompt = "$ "

// Open runs a program in a terminal. cast, which may be nil, records the screen, and typed is its initial text.
func Open(t testing.TB, size Size, typed string, command *exec.Cmd, cast *Cast) *Screen {
	t.Helper()
	s := &Screen{t: t, command: command, changed: make(chan struct{}, 1), ended: make(chan struct{}), emulator: vt.NewEmulator(size.Columns, size.Lines), cast: cast}
	if cast != nil {
		cast.Size = size
	}
	s.draw([]byte(typed))
	var err error
	if s.pty, err = pty.StartWithSize(command, &pty.Winsize{Cols: uint16(size.Columns), Rows: uint16(size.Lines)}); err != nil {
		t.Fatal(err)
	}
	go io.Copy(s.pty, s.emulator) // the terminal's responses to queries
	go s.follow()
	t.Cleanup(func() {
		command.Process.Kill()
		<-s.ended
		s.pty.Close()
		s.emulator.Close()
		command.Wait()
	})
	return s
}

// follow draws the program's output, until the program and its children have closed the terminal.
func (s *Screen) follow() {
	defer close(s.ended)
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.pty.Read(buffer)
		if n > 0 {
			s.draw(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

func (s *Screen) draw(p []byte) {
	s.mu.Lock()
	s.emulator.Write(p)
	if s.cast != nil {
		s.cast.add(p)
	}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Text returns the text of the screen, without spaces at the ends of lines and without empty lines at the end.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return textOf(s.emulator)
}

func textOf(e *vt.Emulator) string {
	var b strings.Builder
	for y := range e.Height() {
		var line strings.Builder
		for x := range e.Width() {
			content := " "
			if cell := e.CellAt(x, y); cell != nil {
				content = cell.Content // none for the second half of a wide character
			}
			line.WriteString(content)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// patience is how long a slow machine may need until a screen shows the expected text.
const patience = 2 * time.Minute

// Until waits for a screen that accept accepts, and returns it.
func (s *Screen) Until(accept func(text string) bool) (string, error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		text := s.Text()
		if accept(text) {
			return text, nil
		}
		select {
		case <-s.changed:
		case <-s.ended:
			if text = s.Text(); accept(text) {
				return text, nil
			}
			return text, errors.New("the program has ended")
		case <-limit.C:
			return text, fmt.Errorf("not within %s", patience)
		}
	}
}

// Still waits until the screen no longer changes, except for text that normal removes, and returns it.
func (s *Screen) Still(normal func(string) string) string {
	const long = 1500 * time.Millisecond
	text, quiet := s.Text(), time.NewTimer(long)
	for {
		select {
		case <-s.changed:
			if now := s.Text(); normal(now) != normal(text) {
				text = now
				quiet.Reset(long)
			}
		case <-quiet.C:
			return s.Text()
		}
	}
}

// Type sends the keys that a user types.
func (s *Screen) Type(keys string) {
	s.t.Helper()
	if _, err := s.pty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// End waits for the end of the program, and returns its last screen and its exit code.
func (s *Screen) End() (string, int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("the program did not end:\n%s", s.Text())
	}
	s.command.Wait()
	return s.Text(), s.command.ProcessState.ExitCode()
}
