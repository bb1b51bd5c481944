package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// measured is a printed row, in milliseconds and MiB of resident memory.
type measured struct {
	here     float64
	memory   int
	original float64 // 0: nothing was measured
	dagu     float64 // likewise
}

// printedRow is a row as bench.row prints it.
var printedRow = regexp.MustCompile(`^(.{46}) +([\d.]+) ms +(\d+) MiB +(?:([\d.]+) ms|-) +(?:([\d.]+) ms|-)`)

// readFigures reads the printed figures: the line about the machine, the line about its load, and the rows by part and
// name.
func readFigures(text string) (machine, load string, rows map[string]measured) {
	rows = map[string]measured{}
	part := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch m := printedRow.FindStringSubmatch(line); {
		case m != nil:
			var r measured
			r.here, _ = strconv.ParseFloat(m[2], 64) // the expression matches only numbers
			r.memory, _ = strconv.Atoi(m[3])
			r.original, _ = strconv.ParseFloat(m[4], 64)
			r.dagu, _ = strconv.ParseFloat(m[5], 64)
			rows[part+strings.TrimSpace(m[1])] = r
		case strings.HasPrefix(line, "measured on "):
			machine = line
		case strings.HasPrefix(line, "load average "):
			load = line
		case strings.HasPrefix(line, "the server, "):
			part = "server: "
		}
	}
	return machine, load, rows
}

// compared lists the rows of the page about other engines, and where their figures are.
var compared = []struct{ says, row string }{
	{"one task on the command line", "one echo>"},
	{"server: start to first answer", "server: start to first answer; idle memory"},
	{"server: 50 tasks in a row", "server: chain of 50 echo>"},
	{"server: 500 tasks in parallel", "server: 500 echo> in parallel"},
	{"server: 20 runs of 20 tasks in a row", "server: 20 attempts x 20 chained echo>"},
	{"server: 20 shell commands in a row", "server: chain of 20 sh>: true"},
}

// comparison returns the table of docs/comparison.md, made from the printed figures and the figures of the other
// engines.
func comparison(printed, reference string) (string, error) {
	machine, load, rows := readFigures(printed)
	text, err := os.ReadFile(reference)
	if err != nil {
		return "", err
	}
	var others struct {
		Original engine `json:"original_engine"`
		Dagu     engine `json:"dagu"`
	}
	if err := json.Unmarshal(text, &others); err != nil {
		return "", fmt.Errorf("%s: %w", reference, err)
	}
	var b strings.Builder
	b.WriteString("| | zerodag | Digdag | Dagu |\n|---|---|---|---|\n")
	for _, c := range compared {
		r, found := rows[c.row]
		if !found || r.original == 0 {
			return "", fmt.Errorf("missing figure for %q", c.row)
		}
		fmt.Fprintf(&b, "| %s | %.0f ms | %s | %s |\n", c.says, r.here, against(r.original, r.here), against(r.dagu, r.here))
	}
	idle := rows["server: start to first answer; idle memory"].memory
	fmt.Fprintf(&b, "| idle server: resident memory | %d MiB | %.0f MiB | %.0f MiB |\n", idle, others.Original.Idle, others.Dagu.Idle)
	fmt.Fprintf(&b, "\nzerodag was %s (%s); the [complete output](../integration/bench/testdata/kept.txt) is in the repository. Digdag (%s) and Dagu (%s) were measured earlier on a machine of the same size "+
		"that also did other work. Compare the ratios, not the milliseconds.\n", machine, load, others.Original.Version, others.Dagu.Version)
	return b.String(), nil
}

// engine holds the data of another engine in addition to the times of rows.
type engine struct {
	Version string
	Idle    float64 `json:"idle_rss_mb"`
}

// against returns the time that another engine took and how many times as long that is, or a dash if it was not
// measured.
func against(theirs, here float64) string {
	if theirs == 0 {
		return "–"
	}
	return fmt.Sprintf("%s ms (%s times)", thousands(theirs), thousands(rounded(theirs/here)))
}

// rounded rounds a number to two digits.
func rounded(x float64) float64 {
	text := strconv.FormatFloat(x, 'g', 2, 64)
	x, _ = strconv.ParseFloat(text, 64) // it has just been written
	return x
}

// thousands writes a whole number with separators.
func thousands(x float64) string {
	text := strconv.FormatFloat(x, 'f', 0, 64)
	if len(text) > 3 {
		return text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}
