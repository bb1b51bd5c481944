package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// result is the result of a test, or of a package whose tests did not run.
type result struct {
	Package, Test string
	Action        string  // pass, fail or skip
	Elapsed       float64 // seconds
	Output        string  `json:",omitempty"` // of a failed or skipped test
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// mostOutput is how many bytes at the end of a test's output are kept, because the end shows why it failed.
const mostOutput = 8 << 10

// follow reads the output of go test -json, prints it as go test would without -v, and returns the result of each test.
// It passes on lines that are not JSON.
func follow(in io.Reader, out io.Writer) (results []result, err error) {
	printed := map[string]string{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			results = note(line, results, printed, out)
		}
		if errors.Is(err, io.EOF) {
			return results, nil
		}
		if err != nil {
			return results, err
		}
	}
}

// note handles one line.
func note(line string, results []result, printed map[string]string, out io.Writer) []result {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(out, strings.TrimSuffix(line, "\n")+"\n")
		return results
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" { // of the package, or of its build
			fmt.Fprint(out, e.Output)
			key = e.Package + e.ImportPath + " "
		}
		text := printed[key] + e.Output
		printed[key] = text[max(0, len(text)-mostOutput):]
	case "pass", "fail", "skip":
		if e.Test == "" && e.Action != "fail" {
			break
		}
		r := result{Package: e.Package, Test: e.Test, Action: e.Action, Elapsed: e.Elapsed}
		if e.Action != "pass" {
			r.Output = printed[key]
		}
		if e.Action == "fail" && e.Test != "" {
			fmt.Fprint(out, r.Output)
		}
		delete(printed, key)
		results = append(results, r)
	}
	return results
}

// tests follows a stream and adds its results to the results of the run. It fails if a test failed or if no test ran,
// because a list that did not run has not succeeded.
func tests(in io.Reader, out io.Writer, file string) error {
	var all []result
	if err := read(file, &all); err != nil {
		return err
	}
	results, err := follow(in, out)
	if err != nil {
		return err
	}
	text, err := json.Marshal(append(all, results...))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	ran, failed := 0, 0
	for _, r := range results {
		if r.Action == "fail" {
			failed++
		}
		if r.Action != "skip" {
			ran++
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d tests failed", failed)
	case ran == 0:
		return errors.New("no test ran")
	}
	return nil
}

// why returns the reason that a test gave for not running.
func (r result) why() string {
	for line := range strings.Lines(r.Output) {
		text := strings.TrimSpace(line)
		for _, mark := range []string{"NOT RUN", "SKIPPED"} {
			if i := strings.Index(text, mark); i >= 0 {
				return text[i:]
			}
		}
	}
	return "no reason given"
}
