package channel

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// message is a notice in a form for human readers.
type message struct {
	kind     host.NoticeKind
	title    string // one line
	subject  string // PROJECT/WORKFLOW, "" if unknown
	facts    []fact
	output   string // the last lines of the failed task
	commands string // what to do next
	link     string // address of the attempt; "" if there is none
}

// linkText is the text of the link to the attempt.
const linkText = "Open the attempt"

// fact is one line about the notice.
type fact struct{ name, value string }

// Limits on the parts of a message, in bytes, so that one part leaves room for the others.
const (
	longestTitle = 250
	longestFact  = 400
)

// read builds the message from a notice's fields (notice.Fields).
func read(fields *param.Map) message {
	get := func(key string) string {
		v, _ := fields.Get(key)
		switch v := v.(type) {
		case nil:
			return ""
		case string:
			return printable(v)
		case int64:
			return strconv.FormatInt(v, 10)
		default:
			return param.Text(v)
		}
	}
	m := message{kind: host.NoticeKind(get("kind")), output: get("last_lines"), commands: get("resume"), link: get("url")}
	m.subject = strings.Trim(get("project_name")+"/"+get("workflow_name"), "/")
	m.title = strings.Trim(m.subject+": "+get("message"), ": ")
	m.title = oneLine(m.title, longestTitle)
	for _, f := range []fact{{"Task", get("failed_task")}, {"Error", get("error")}, {"Session", get("session_time")}, {"Attempt", get("attempt_id")},
		{"Task", get("task_name")}, {"Failures", get("failures")}, {"Site", site(get("site_id"))}} {
		if f.value != "" && !(f.name == "Task" && m.has("Task")) {
			m.facts = append(m.facts, fact{f.name, oneLine(f.value, longestFact)})
		}
	}
	return m
}

// printable returns the string as valid UTF-8 without control characters, except for tabs and line breaks.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Title returns a line that summarizes a notice.
func Title(fields *param.Map) string { return read(fields).title }

// site returns the site's number if there are several sites.
func site(id string) string {
	if id == "0" || id == "1" {
		return ""
	}
	return id
}

func (m message) has(name string) bool {
	for _, f := range m.facts {
		if f.name == name {
			return true
		}
	}
	return false
}

// mark returns a symbol for the message's kind.
func (m message) mark() string {
	switch m.kind {
	case host.NoticeFailure, host.NoticeStartFailed:
		return "\U0001F534" // red circle
	case host.NoticeRecovered:
		return "\U0001F7E2" // green circle
	case host.NoticeSLA, host.NoticeSlow, host.NoticeLate:
		return "\U0001F7E0" // orange circle
	}
	return "\U0001F535" // blue circle
}

// oneLine returns the text as a single line of at most n bytes.
func oneLine(text string, n int) string { return cut(strings.Join(strings.Fields(text), " "), n) }

const ellipsis = "…"

// cut shortens the text to at most n bytes without splitting a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if n < len(ellipsis) {
		return ""
	}
	end := n - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// tail returns at most the last n bytes of the text, without splitting a character: the last lines of output are more
// informative than the first.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if n < len(ellipsis) {
		return ""
	}
	begin := len(text) - n + len(ellipsis)
	for begin < len(text) && !utf8.RuneStart(text[begin]) {
		begin++
	}
	return ellipsis + text[begin:]
}

// joined joins as many lines as fit into n bytes. No line is cut, because it may contain markup.
func joined(lines []string, n int) string {
	text := ""
	for _, line := range lines {
		if len(text)+1+len(line) <= n {
			text += "\n" + line
		}
	}
	return strings.TrimPrefix(text, "\n")
}
