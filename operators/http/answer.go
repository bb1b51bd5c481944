package http

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding/htmlindex"

	"zerodag/operators"
)

// mostBytes is the maximum size of a response; a longer one is not stored.
const mostBytes = 2 << 20

// answer is a server's response.
type answer struct {
	status      int
	contentType string
	length      int64 // as reported by the server, -1 if not reported
	content     []byte
}

func readAnswer(response *http.Response) (*answer, error) {
	content, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	return &answer{response.StatusCode, response.Header.Get("Content-Type"), response.ContentLength, content}, nil
}

// text decodes the content with the charset of a Content-Type, by default the server's.
func (a *answer) text(contentType string) (string, error) {
	if contentType == "" {
		contentType = a.contentType
	}
	_, options, _ := mime.ParseMediaType(contentType) // an unknown charset is read as UTF-8
	charset := options["charset"]
	if charset == "" || strings.EqualFold(charset, "utf-8") {
		return strings.ToValidUTF8(string(a.content), "\uFFFD"), nil
	}
	encoding, err := htmlindex.Get(charset)
	if err != nil {
		return "", operators.Faultf("unsupported charset", "%s", charset)
	}
	text, err := encoding.NewDecoder().Bytes(a.content)
	return string(text), err
}

// reason returns the status line without the protocol, in Digdag's words.
func (a *answer) reason() string {
	text := http.StatusText(a.status)
	switch {
	case a.status == http.StatusInternalServerError:
		text = "Server Error"
	case text == "":
		text = fmt.Sprint(a.status)
	}
	return fmt.Sprintf("%d %s", a.status, text)
}

// shownLength is how much of the content a message shows, in UTF-16 units.
const shownLength = 200

// summary returns the content for a message.
func (a *answer) summary(most int64) string {
	if a.length > most {
		return "(response body is too long)"
	}
	text, err := a.text("")
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	if u := utf16.Encode([]rune(text)); len(u) > shownLength {
		text = string(utf16.Decode(u[:shownLength-3])) + "..."
	}
	return text
}
