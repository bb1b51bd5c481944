package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// measured is a row of what was printed: milliseconds, and MiB of resident memory.
type measured struct {
	here     float64
	memory   int
	original float64 // 0: nothing was measured
}

// printedRow is a row as bench.row prints it.
var printedRow = regexp.MustCompile(`^(.{46}) +([\d.]+) ms +(\d+) MiB +(?:([\d.]+) ms|-) +(?:[\d.]+ ms|-)`)

// readFigures reads what was printed: the line about the machine, that about its load, and the rows by part and name.
func readFigures(text string) (machine, load string, rows map[string]measured) {
	rows = map[string]measured{}
	part := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch m := printedRow.FindStringSubmatch(line); {
		case m != nil:
			var r measured
			r.here, _ = strconv.ParseFloat(m[2], 64) // the expression lets numbers through only
			r.memory, _ = strconv.Atoi(m[3])
			r.original, _ = strconv.ParseFloat(m[4], 64)
			rows[part+strings.TrimSpace(m[1])] = r
		case strings.HasPrefix(line, "measured on "):
			machine = line
		case strings.HasPrefix(line, "processes that wanted "):
			load = line
		case strings.HasPrefix(line, "the server, "):
			part = "server: "
		}
	}
	return machine, load, rows
}

// compared are the rows of the README and where their figures are.
var compared = []struct{ says, row string }{
	{"one `echo>` by `run`, from start to exit", "one echo>"},
	{"server: from start to first answer", "server: start to first answer; idle memory"},
	{"server: chain of 50 `echo>`, from request to done", "server: chain of 50 echo>"},
	{"server: 500 `echo>` in parallel", "server: 500 echo> in parallel"},
	{"server: 20 attempts of 20 chained `echo>`", "server: 20 attempts x 20 chained echo>"},
	{"server: chain of 20 `sh>`", "server: chain of 20 sh>: true"},
}

// comparison is the table of the README, from what was printed and the figures of the original.
func comparison(printed, reference string) (string, error) {
	machine, load, rows := readFigures(printed)
	text, err := os.ReadFile(reference)
	if err != nil {
		return "", err
	}
	var others struct {
		Original struct {
			Version string
			Idle    float64 `json:"idle_rss_mb"`
		} `json:"original_engine"`
	}
	if err := json.Unmarshal(text, &others); err != nil {
		return "", fmt.Errorf("%s: %w", reference, err)
	}
	var b strings.Builder
	b.WriteString("| median time | zerodag | Digdag | Digdag takes |\n|---|---|---|---|\n")
	for _, c := range compared {
		r, found := rows[c.row]
		if !found || r.original == 0 {
			return "", fmt.Errorf("there is no figure of %q for both", c.row)
		}
		fmt.Fprintf(&b, "| %s | %.0f ms | %s ms | %s times as long |\n", c.says, r.here, thousands(r.original), thousands(rounded(r.original/r.here)))
	}
	idle := rows["server: start to first answer; idle memory"].memory
	fmt.Fprintf(&b, "| **resident memory** | | | **Digdag needs** |\n| server that does nothing (VmRSS) | %d MiB | %.0f MiB | %.1f times as much |\n", idle, others.Original.Idle, others.Original.Idle/float64(idle))
	fmt.Fprintf(&b, "\nzerodag was %s (%s); all that was printed is [kept](integration/bench/testdata/kept.txt). Digdag %s was measured before that, not beside it, on a machine with as many processors and as much memory, "+
		"which had other work: read how many times as long, not the digits. `make bench` measures zerodag on yours.\n", machine, load, others.Original.Version)
	return b.String(), nil
}

// rounded leaves two digits of a number.
func rounded(x float64) float64 {
	text := strconv.FormatFloat(x, 'g', 2, 64)
	x, _ = strconv.ParseFloat(text, 64) // it has just been written
	return x
}

// thousands writes a whole number for people.
func thousands(x float64) string {
	text := strconv.FormatFloat(x, 'f', 0, 64)
	if len(text) > 3 {
		return text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}
