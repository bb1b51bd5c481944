package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/param"
)

func (w *world) readFiles() object {
	out := object{}
	for _, name := range w.Files {
		text, err := os.ReadFile(filepath.Join(w.out, name))
		if err != nil {
			out[name] = nil
			continue
		}
		s := strings.ToValidUTF8(string(text), "\uFFFD")
		if w.FilesSorted {
			lines := strings.SplitAfter(s, "\n")
			slices.Sort(lines)
			s = strings.Join(lines, "")
		}
		out[name] = w.norm(s)
	}
	return out
}

// sub replaces the placeholders of the case with this run's addresses and paths.
func (w *world) sub(v any) any {
	switch x := v.(type) {
	case string:
		return strings.NewReplacer("@OUT@", w.out, "@HTTP@", w.web.URL, "@SMTP_PORT@", strconv.Itoa(w.mail.port)).Replace(x)
	case *param.Map:
		out := param.New()
		for k, e := range x.All() {
			out.Set(w.sub(k).(string), w.sub(e))
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = w.sub(e)
		}
		return out
	}
	return v
}

var (
	workspaceName = regexp.MustCompile(`\b\d+_main_\d+_\d+_\d{15,}`)
	runnerLine    = regexp.MustCompile(`runner\.py", line \d+`)
	scriptFolder  = regexp.MustCompile(`digdag-(sh|py|rb)-\d+-\d+(-[0-9a-f]+)?`)
)

// norm removes differences between runs from text, like conform.py.
func (w *world) norm(s string) string {
	s = w.database.recorded(shortened(s))
	s = strings.NewReplacer(w.out, "@OUT@", w.web.URL, "@HTTP@", fmt.Sprintf("127.0.0.1:%d", w.mail.port), "127.0.0.1:@SMTP_PORT@").Replace(s)
	s = w.copies.ReplaceAllString(s, "@WORKSPACE@")
	s = strings.ReplaceAll(s, w.project+"/", "@PUSHDIR@/")
	s = workspaceName.ReplaceAllString(s, "@WSNAME@")
	s = runnerLine.ReplaceAllString(s, `runner.py", line N`)
	return scriptFolder.ReplaceAllString(s, "digdag-$1-@N@")
}

// shortened writes runs of 1,000 or more equal characters as the recordings do.
func shortened(s string) string {
	if len(s) <= 1500 {
		return s
	}
	var out strings.Builder
	runes := []rune(s)
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && runes[j] == runes[i] && runes[i] != '\n' {
			j++
		}
		if j = max(j, i+1); j-i >= 1000 {
			fmt.Fprintf(&out, "$repeat(%c,%d)", runes[i], j-i)
		} else {
			out.WriteString(string(runes[i:j]))
		}
		i = j
	}
	return out.String()
}

// addedToErrors lists the keys that `error` of handlers has in addition to Digdag's (docs/compatibility.md).
var addedToErrors = []string{"task", "tasks", "exit_code", "attempt"}

func (w *world) normValue(v any) any {
	switch x := v.(type) {
	case string:
		return w.norm(x)
	case float64:
		return w.database.recordedNumber(x)
	case object:
		out := object{}
		for k, e := range x {
			if _, added := x["tasks"]; added && slices.Contains(addedToErrors, k) {
				continue
			}
			out[k] = w.normValue(e)
			if k == "stacktrace" {
				out[k] = "$stacktrace"
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = w.normValue(e)
		}
		return out
	}
	return v
}
