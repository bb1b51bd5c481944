package conformance

import (
	"regexp"
	"slices"
	"strings"
)

var (
	engineLine = regexp.MustCompile(`^\[(TRACE|DEBUG|INFO|WARN|ERROR)\] `)
	frame      = regexp.MustCompile(`^\s+(File |from |at |\^|~|\.\.\. )|runner\.(py|rb)|^Traceback |^\s{4,}\S|^During handling of the above|^\s+[~^]+\s*$`)
	continued  = regexp.MustCompile(`^(Caused by: )?([a-z]\w*\.)+[A-Z]\w*(Exception|Error)?\b|^> |^\(\(__t=|^Error messages from|^TaskExecutionException$|^Dependent workflow`)
)

// userLines reduces a log to the output of commands and echo>.
func userLines(a object) any {
	if varies(a["logs"]) {
		return varying
	}
	errors := errorLines(a)
	out := object{}
	for name, v := range asObject(a["logs"]) {
		if varies(v) {
			out[name] = varying
			continue
		}
		if lines := userLinesOf(asList(v), errors[name]); len(lines) > 0 {
			out[name] = lines
		}
	}
	return out
}

func userLinesOf(lines []any, errors []string) []any {
	var keep []any
	engine := false // an ERROR or WARN line of the engine may continue over several lines
	for _, l := range lines {
		text, _ := l.(string)
		if m, ok := l.(object); ok {
			for _, x := range asList(m[varying]) {
				if s, ok := x.(string); ok {
					text = s
					break
				}
			}
		}
		if m := engineLine.FindStringSubmatch(text); m != nil {
			engine = m[1] == "ERROR" || m[1] == "WARN"
			continue
		}
		if engine && (continued.MatchString(text) || partOf(text, errors)) || frame.MatchString(text) {
			continue
		}
		keep = append(keep, l)
	}
	return keep
}

func partOf(text string, errors []string) bool {
	text = strings.TrimSpace(text)
	return text != "" && slices.ContainsFunc(errors, func(e string) bool {
		e = strings.TrimSpace(e)
		return e != "" && (strings.Contains(e, text) || strings.Contains(text, e))
	})
}

// errorLines returns the lines of each task's error, which an engine may log.
func errorLines(a object) map[string][]string {
	out := map[string][]string{}
	for _, r := range asList(a["tasks"]) {
		t := asObject(r)
		if m, ok := asObject(t["error"])["message"].(string); ok {
			name := t["fullName"].(string)
			out[name] = append(out[name], strings.Split(kindSuffix.ReplaceAllString(m, ""), "\n")...)
		}
	}
	return out
}
