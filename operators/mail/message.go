package mail

import (
	"bytes"
	"maps"
	"mime"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"zerodag/engine/param"
	"zerodag/operators"
)

// message is a mail before it is formatted.
type message struct {
	from        address
	to, cc, bcc []address
	subject     string
	body        string
	html        bool
	attachments []attachment
	date        time.Time
	id          string
}

type attachment struct {
	name, kind string
	content    []byte
}

func readAttachment(t *operators.Task, p *operators.Params) (attachment, error) {
	path, err := p.String("path")
	if err != nil {
		return attachment{}, err
	}
	// With the slash, as in Digdag: files from subfolders have such names in mailboxes.
	name, err := p.StringOr("filename", path[max(strings.LastIndexByte(path, '/'), 0):])
	if err != nil {
		return attachment{}, err
	}
	kind, err := p.StringOr("content_type", "application/octet-stream")
	if err != nil {
		return attachment{}, err
	}
	if !validType(kind) {
		return attachment{}, param.Errorf("Invalid content_type: %s", kind)
	}
	file, err := t.FileName(path)
	if err != nil {
		return attachment{}, err
	}
	content, err := t.Files.Read(file)
	if err != nil {
		return attachment{}, t.FileError(file, err)
	}
	return attachment{name, kind, content}, nil
}

// validType reports whether a string is a media type with parameters. Names are limited as RFC 6838 does, so that lines
// stay short.
func validType(kind string) bool {
	const longest = 127
	name, params, err := mime.ParseMediaType(kind)
	tooLong := len(name) > 2*longest
	for key := range params {
		tooLong = tooLong || len(key) > longest
	}
	return err == nil && !tooLong && !strings.ContainsAny(kind, "\r\n")
}

// recipients returns all mailboxes that the message goes to.
func (m *message) recipients() []string {
	var all []string
	for _, list := range [][]address{m.to, m.cc, m.bcc} {
		for _, a := range list {
			all = append(all, a.mailbox)
		}
	}
	return all
}

// bytes formats the message according to RFC 5322. It does not name the recipients of blind copies.
func (m *message) bytes() ([]byte, error) {
	msg := gomail.NewMsg(gomail.WithCharset(charset), gomail.WithNoDefaultUserAgent())
	// All headers are set as encoded text: the library's own encoding and quoting can produce words that are too long
	// to fold, and repeated spaces that it folds into an empty line, which would end the headers.
	msg.SetDateWithValue(m.date)
	msg.SetMessageIDWithValue(m.id + "@zerodag")
	msg.SetGenHeader("From", m.from.header())
	msg.SetGenHeader("Sender", m.from.header())
	if len(m.to) > 0 {
		msg.SetGenHeader("To", headers(m.to)...)
	}
	if len(m.cc) > 0 {
		msg.SetGenHeader("Cc", headers(m.cc)...)
	}
	msg.SetGenHeader(gomail.HeaderSubject, headerText(m.subject))
	kind := gomail.TypeTextPlain
	if m.html {
		kind = gomail.TypeTextHTML
	}
	encoding := encodingFor(m.body)
	body := m.body
	if encoding == gomail.NoEncoding {
		body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\n", "\r\n")
	}
	msg.SetBodyString(kind, body, gomail.WithPartEncoding(encoding))
	for _, a := range m.attachments {
		msg.AttachReadSeeker(a.name, bytes.NewReader(a.content), a.describe)
	}
	var b bytes.Buffer
	_, err := msg.WriteTo(&b)
	return b.Bytes(), err
}

// charset is the encoding of all text.
const charset gomail.Charset = "utf-8"

// describe sets the headers of a part itself: the library never folds them, and allows no slash in a name.
func (a attachment) describe(f *gomail.File) {
	f.Header.Set("Content-Type", a.contentType())
	f.Header.Set("Content-Transfer-Encoding", string(gomail.EncodingB64))
	f.Header.Set("Content-Disposition", "attachment"+headerParameter("filename", a.name))
}

// contentType names the encoding of a string if its type does not.
func (a attachment) contentType() string {
	kind, params, err := mime.ParseMediaType(a.kind)
	if err != nil {
		return a.kind
	}
	if strings.HasPrefix(kind, "text/") && params["charset"] == "" {
		params["charset"] = "utf-8"
		if encodingFor(string(a.content)) == gomail.NoEncoding {
			params["charset"] = "us-ascii"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		kind += headerParameter(name, params[name])
	}
	return kind
}

// longestLine is the maximum line length in SMTP.
const longestLine = 998

// encodingFor chooses an encoding in which a string arrives unchanged through any server: none if it is ASCII in short
// lines, otherwise the readable or the compact one, whichever is shorter.
func encodingFor(text string) gomail.Encoding {
	other, line, long := 0, 0, false
	for _, c := range []byte(strings.ReplaceAll(text, "\r\n", "\n")) {
		line++
		if c == '\n' {
			line = 0
		}
		long = long || line > longestLine
		if c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			other++
		}
	}
	switch {
	case other == 0 && !long:
		return gomail.NoEncoding
	case other < len(text)-other:
		return gomail.EncodingQP
	}
	return gomail.EncodingB64
}
