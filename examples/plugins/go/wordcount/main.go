// Wordcount is `wordcount>: FILE`, an operator in Go that uses only the standard library: it counts the words in a
// project file. It stores ${words} and, with `each: true`, generates a task for each word. It must write nothing else
// to its answer file.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

type request struct {
	Version int            `json:"version"`
	Command any            `json:"command"`
	Params  map[string]any `json:"params"`
}

type answer struct {
	Store    map[string]any `json:"store,omitempty"`
	Subtasks map[string]any `json:"subtasks,omitempty"`
	Error    *failure       `json:"error,omitempty"`
}

type failure struct {
	Message string `json:"message"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err) // goes to the task's log
		os.Exit(1)
	}
}

func run() error {
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if r.Version != 1 {
		return fmt.Errorf("wordcount> speaks version 1 of the protocol, not %d", r.Version)
	}
	text, err := json.Marshal(count(r))
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return os.WriteFile(os.Getenv("ZERODAG_RESULT"), text, 0o600)
}

// count returns the answer, which contains an error if the user made a mistake.
func count(r request) answer {
	file, isText := r.Command.(string)
	if !isText {
		return answer{Error: &failure{"wordcount>: name a file of the project"}}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return answer{Error: &failure{"wordcount>: " + err.Error()}}
	}
	words := strings.Fields(string(text))
	fmt.Printf("%s has %d words\n", file, len(words))
	a := answer{Store: map[string]any{"words": len(words)}}
	if r.Params["each"] == true {
		a.Subtasks = tasks(words)
	}
	return a
}

// tasks returns a task for each different word.
func tasks(words []string) map[string]any {
	times := map[string]int{}
	for _, w := range words {
		times[w]++
	}
	group := map[string]any{}
	for i, w := range slices.Sorted(maps.Keys(times)) {
		group[fmt.Sprintf("+word%d", i)] = map[string]any{"echo>": fmt.Sprintf("%s: %d", w, times[w])}
	}
	return group
}
