package channel

import (
	"strings"

	"zerodag/engine/param"
)

// Slack's limits: a section of a block has 3,000 characters, the text of a message 40,000. Slack counts after replacing
// the escapes, so a message whose bytes, including escapes, are within the limits is short enough.
const (
	slackSection = 3000
	slackText    = 4000 // Slack's recommendation for text
)

// Slack returns a channel for a Slack incoming webhook.
func Slack(url string) Hook {
	return Hook{url: url, payload: func(m message, _ *param.Map) *param.Map { return slackMessage(m) }}
}

func slackMessage(m message) *param.Map {
	title := m.mark() + " *" + slackBold(slackEscaped(m.title, longestTitle)) + "*"
	section := func(text string) param.Value {
		// verbatim: Slack does not turn plain names, such as #channel and @user, into links and mentions.
		return param.New("type", "section", "text", param.New("type", "mrkdwn", "text", text, "verbatim", true))
	}
	blocks := []param.Value{section(title)}
	var lines []string
	for _, f := range m.facts {
		lines = append(lines, f.name+": "+slackEscaped(f.value, longestFact))
	}
	if m.commands != "" {
		lines = append(lines, "Resume: `"+slackEscaped(slackPlain(m.commands), longestFact)+"`")
	}
	if m.link != "" {
		lines = append(lines, "<"+slackEscape(m.link)+"|"+linkText+">")
	}
	if len(lines) > 0 {
		blocks = append(blocks, section(joined(lines, slackSection)))
	}
	if m.output != "" {
		const fence = "```"
		text := slackEscapedTail(slackPlain(m.output), slackSection-2*len(fence)-2)
		blocks = append(blocks, section(fence+"\n"+text+"\n"+fence))
	}
	return param.New("text", cut(title, slackText), "blocks", blocks)
}

// slackBold removes the asterisks, which would end bold text.
func slackBold(text string) string { return strings.ReplaceAll(text, "*", "∗") }

// slackPlain replaces the backticks, which would end code.
func slackPlain(text string) string { return strings.ReplaceAll(text, "`", "'") }

// slackEscaped returns the text without mentions, links and other markup, at most n bytes long. It never cuts an
// escape.
func slackEscaped(text string, n int) string { return escapedWithin(text, n, cut, slackEscape) }

// slackEscapedTail is like slackEscaped, but keeps the end of the text.
func slackEscapedTail(text string, n int) string { return escapedWithin(text, n, tail, slackEscape) }

// slackEscape escapes the three characters that Slack requires to be escaped.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// escapedWithin shortens a text until its escaped form has at most n bytes, so that no escape is cut.
func escapedWithin(text string, n int, shorten func(string, int) string, escape func(string) string) string {
	for limit := n; ; {
		short := shorten(text, limit)
		escaped := escape(short)
		if over := len(escaped) - n; over > 0 && limit > 0 {
			// Each removed byte removes at least one byte of the escaped text.
			limit = max(0, limit-max(1, over/len("&amp;")))
			continue
		}
		return escaped
	}
}
