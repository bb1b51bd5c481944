package channel

import (
	"net/url"
	"strings"

	"zerodag/engine/param"
)

// discordContent is the longest content that Discord accepts, in UTF-16 code units. A string never has more code units
// than bytes.
const discordContent = 2000

// Discord returns a channel for a Discord webhook.
func Discord(address string) Hook {
	if u, err := url.Parse(address); err == nil { // with wait, Discord reports errors in the message instead of accepting it unchecked
		q := u.Query()
		q.Set("wait", "true")
		u.RawQuery = q.Encode()
		address = u.String()
	}
	return Hook{url: address, payload: func(m message, _ *param.Map) *param.Map { return discordMessage(m) }}
}

func discordMessage(m message) *param.Map {
	lines := []string{m.mark() + " **" + discordPlain(m.title) + "**"}
	for _, f := range m.facts {
		lines = append(lines, f.name+": "+discordPlain(f.value))
	}
	if m.commands != "" {
		lines = append(lines, "Resume: `"+discordCode(oneLine(m.commands, longestFact))+"`")
	}
	if m.link != "" {
		lines = append(lines, "["+linkText+"](<"+m.link+">)") // without the brackets, Discord would add a preview
	}
	text := joined(lines, discordContent)
	const begin, end = "\n```\n", "\n```"
	if room := discordContent - len(text) - len(begin) - len(end); m.output != "" && room > len(ellipsis) {
		text += begin + tail(discordCode(m.output), room) + end
	}
	// Because no mentions are allowed, an error that contains @everyone notifies no one.
	return param.New("content", text, "allowed_mentions", param.New("parse", []param.Value{}))
}

// discordCode replaces backticks, which would end the code span.
func discordCode(text string) string { return strings.ReplaceAll(text, "`", "'") }

// discordPlain escapes the characters of Discord's Markdown.
func discordPlain(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, ">", `\>`, "[", `\[`).Replace(text)
}
