package channel

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// message is a notice as people read it.
type message struct {
	kind     host.NoticeKind
	title    string // one line
	subject  string // PROJECT/WORKFLOW, "" if unknown
	facts    []fact
	output   string // the last lines of the failed task
	commands string // what to do next
	link     string // to the attempt; "" for none
}

// linkText is what users select to open the attempt.
const linkText = "Open the attempt"

// fact is one line about the notice.
type fact struct{ name, value string }

// Limits on the parts of a message, in bytes, so that one part leaves room for the others.
const (
	longestTitle = 250
	longestFact  = 400
)

// read returns the message of a notice's fields (notice.Fields).
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

// printable returns a text as valid UTF-8 without control characters, except for tabs and ends of lines.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// Title returns a line that says what a notice is about.
func Title(fields *param.Map) string { return read(fields).title }

// site returns the number of a site if there are several.
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

// mark returns a symbol for the kind of a message.
func (m message) mark() string {
	switch m.kind {
	case host.NoticeFailure, host.NoticeStartFailed:
		return "\U0001F534" // a red circle
	case host.NoticeRecovered:
		return "\U0001F7E2" // a green one
	case host.NoticeSLA, host.NoticeSlow, host.NoticeLate:
		return "\U0001F7E0" // an orange one
	}
	return "\U0001F535" // a blue one
}

// oneLine returns a text as one line of at most n bytes.
func oneLine(text string, n int) string { return cut(strings.Join(strings.Fields(text), " "), n) }

const ellipsis = "…"

// cut shortens a text to at most n bytes, at a letter.
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

// tail shortens a text to its end, at most n bytes, at a letter: the last lines of an output say more than the first.
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
