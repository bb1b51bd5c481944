package channel

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/internal/notice"
)

// TelegramAPI is the default address of Telegram's Bot API; organizations may run their own instance.
const TelegramAPI = "https://api.telegram.org"

// telegramText is the longest text that Telegram accepts, in UTF-16 code units after its entities are parsed. The
// escaped text always has at least as many bytes.
const telegramText = 4096

// Telegram returns a channel for a Telegram chat, to which the bot with the given token writes.
func Telegram(api, token, chat string) Hook {
	var to param.Value = chat
	if id, err := strconv.ParseInt(chat, 10, 64); err == nil {
		to = id
	}
	return Hook{url: strings.TrimSuffix(api, "/") + "/bot" + token + "/sendMessage", secrets: []string{token}, judge: telegramAnswer,
		payload: func(m message, _ *param.Map) *param.Map {
			return param.New("chat_id", to, "text", telegramMessage(m), "parse_mode", "HTML", "link_preview_options", param.New("is_disabled", true))
		}}
}

func telegramMessage(m message) string {
	lines := []string{m.mark() + " <b>" + telegramEscape(m.title) + "</b>"}
	for _, f := range m.facts {
		lines = append(lines, f.name+": "+telegramEscape(f.value))
	}
	if m.commands != "" {
		lines = append(lines, "<code>"+telegramEscape(oneLine(m.commands, longestFact))+"</code>")
	}
	if m.link != "" {
		lines = append(lines, `<a href="`+strings.ReplaceAll(telegramEscape(m.link), `"`, "%22")+`">`+linkText+"</a>")
	}
	text := joined(lines, telegramText)
	const begin, end = "\n<pre>", "</pre>"
	if room := telegramText - len(text) - len(begin) - len(end); m.output != "" && room > len(ellipsis) {
		text += begin + escapedWithin(m.output, room, tail, telegramEscape) + end
	}
	return text
}

// telegramEscape replaces the characters that have a special meaning in Telegram's HTML.
func telegramEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// telegramAnswer returns the error in a response; the status of such a response also reports an error.
func telegramAnswer(r notice.Request, a notice.Answer) error {
	v, _ := param.ParseJSON(a.Body)
	answer, is := v.(*param.Map)
	if !is {
		return nil // the status shows that the message was accepted; a long response is cut
	}
	if ok, _ := answer.Get("ok"); ok == false {
		why, _ := answer.Get("description")
		refused := &notice.Refusal{Err: errors.New("Telegram refused the message: " + r.Shown(fmt.Sprint(why)))}
		if p := answer.Map("parameters"); p != nil {
			if s, _ := p.Get("retry_after"); s != nil {
				seconds, _ := s.(int64)
				refused.After = time.Duration(seconds) * time.Second
			}
		}
		return refused
	}
	return nil
}
