package serverrun

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"zerodag/internal/lineage"
)

// hideEnvironment removes variables that commands must not get from this process's environment as the kernel shows it
// (/proc/PID/environ), and lets only root read the process's memory. The program itself still has its variables because
// it copied them when it started.
func hideEnvironment(gives lineage.Environment) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil { // otherwise, the rest needs root
		return fmt.Errorf("hide the environment: %w", err)
	}
	err := blankEnvironment(gives)
	if e := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("hide the environment: %w", err)
	}
	return nil
}

func blankEnvironment(gives lineage.Environment) error {
	shown, err := os.ReadFile("/proc/self/environ")
	if err != nil || len(shown) == 0 {
		return err
	}
	start, err := environmentStart()
	if err != nil {
		return err
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	there := make([]byte, len(shown))
	if _, err := memory.ReadAt(there, start); err != nil {
		return err
	}
	if !bytes.Equal(there, shown) { // never write to anything else
		return fmt.Errorf("it is not at the address that the kernel reports")
	}
	_, err = memory.WriteAt(blanked(shown, gives), start)
	return err
}

// blanked returns an environment as the kernel shows it, with zeros in place of some variables.
func blanked(shown []byte, gives lineage.Environment) []byte {
	kept := make([]byte, 0, len(shown))
	for _, pair := range bytes.SplitAfter(shown, []byte{0}) {
		name, _, _ := strings.Cut(string(pair), "=")
		if !gives.Gives(name) {
			pair = make([]byte, len(pair))
		}
		kept = append(kept, pair...)
	}
	return kept
}

// environmentStart returns the memory address of the environment that the kernel shows.
func environmentStart() (int64, error) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	const behindName, envStart = 3, 50 // fields are counted from 1; the name may contain spaces
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= envStart-behindName {
		return 0, fmt.Errorf("the kernel does not report its address")
	}
	return strconv.ParseInt(fields[envStart-behindName], 10, 64)
}
