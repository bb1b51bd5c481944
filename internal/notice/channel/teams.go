package channel

import (
	"strings"

	"zerodag/engine/param"
)

// teamsPart is the maximum size of the output in a card, in bytes before escaping: Teams accepts messages of 28 KB.
const teamsPart = 3000

// Teams returns a channel for a Teams workflow that starts "when a Teams webhook request is received". Such a workflow
// accepts Adaptive Cards.
func Teams(url string) Hook {
	return Hook{url: url, payload: func(m message, _ *param.Map) *param.Map { return teamsMessage(m) }}
}

func teamsMessage(m message) *param.Map {
	text := func(s string, more ...any) *param.Map {
		return param.Merge(param.New("type", "TextBlock", "text", s, "wrap", true), param.New(more...))
	}
	body := []param.Value{text(m.mark()+" "+teamsPlain(m.title), "weight", "Bolder", "size", "Medium")}
	var facts []param.Value
	for _, f := range m.facts {
		facts = append(facts, param.New("title", f.name, "value", teamsPlain(f.value)))
	}
	if m.commands != "" {
		facts = append(facts, param.New("title", "Resume", "value", teamsPlain(oneLine(m.commands, longestFact))))
	}
	if len(facts) > 0 {
		body = append(body, param.New("type", "FactSet", "facts", facts))
	}
	if m.output != "" {
		body = append(body, text(strings.ReplaceAll(teamsPlain(tail(m.output, teamsPart)), "\n", "\n\n"), "fontType", "Monospace", "size", "Small"))
	}
	card := param.New("$schema", "http://adaptivecards.io/schemas/adaptive-card.json", "type", "AdaptiveCard", "version", "1.4", "body", body)
	if m.link != "" {
		card.Set("actions", []param.Value{param.New("type", "Action.OpenUrl", "title", linkText, "url", m.link)})
	}
	return param.New("type", "message", "attachments", []param.Value{
		param.New("contentType", "application/vnd.microsoft.card.adaptive", "contentUrl", nil, "content", card)})
}

// teamsPlain escapes the characters that begin links, lists and emphasis in a card's Markdown. `<at>` would mention a
// user only with an entity in the card, which this package never writes.
func teamsPlain(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}
