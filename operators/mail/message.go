package mail

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"strings"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// message is a mail before it has a form.
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
	// With the slash, as in the original: files of sub-folders are called so in mailboxes.
	name, err := p.StringOr("filename", path[max(strings.LastIndexByte(path, '/'), 0):])
	if err != nil {
		return attachment{}, err
	}
	kind, err := p.StringOr("content_type", "application/octet-stream")
	if err != nil {
		return attachment{}, err
	}
	if _, _, err := mime.ParseMediaType(kind); err != nil || strings.ContainsAny(kind, "\r\n") {
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

// recipients are all mailboxes that the message goes to.
func (m *message) recipients() []string {
	var all []string
	for _, list := range [][]address{m.to, m.cc, m.bcc} {
		for _, a := range list {
			all = append(all, a.mailbox)
		}
	}
	return all
}

// bytes is the message in the form of RFC 5322. Blind copies are not named in it.
func (m *message) bytes() ([]byte, error) {
	var b bytes.Buffer
	write := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	write("Date", m.date.Format(time.RFC1123Z))
	write("From", m.from.header())
	write("Sender", m.from.header())
	if len(m.to) > 0 {
		write("To", addressList(m.to, len("To: ")))
	}
	if len(m.cc) > 0 {
		write("Cc", addressList(m.cc, len("Cc: ")))
	}
	write("Message-ID", "<"+m.id+"@zerodag>")
	write("Subject", mime.QEncoding.Encode("utf-8", m.subject))
	write("MIME-Version", "1.0")
	text, header, err := m.text()
	if err != nil {
		return nil, err
	}
	if len(m.attachments) == 0 {
		for _, name := range []string{"Content-Type", "Content-Transfer-Encoding"} {
			write(name, header.Get(name))
		}
		b.WriteString("\r\n")
		b.Write(text)
		return b.Bytes(), nil
	}
	parts := multipart.NewWriter(&b)
	write("Content-Type", `multipart/mixed; boundary="`+parts.Boundary()+`"`)
	b.WriteString("\r\n")
	if err := writePart(parts, header, text); err != nil {
		return nil, err
	}
	for _, a := range m.attachments {
		if err := writePart(parts, a.header(), inBase64(a.content)); err != nil {
			return nil, err
		}
	}
	err = parts.Close() // writes the end
	return b.Bytes(), err
}

func writePart(parts *multipart.Writer, header textproto.MIMEHeader, content []byte) error {
	part, err := parts.CreatePart(header)
	if err == nil {
		_, err = part.Write(content)
	}
	return err
}

func (a attachment) header() textproto.MIMEHeader {
	return textproto.MIMEHeader{
		"Content-Type":              {a.contentType()},
		"Content-Transfer-Encoding": {"base64"},
		"Content-Disposition":       {mime.FormatMediaType("attachment", map[string]string{"filename": a.name})},
	}
}

// contentType names the encoding of a text that does not name its own.
func (a attachment) contentType() string {
	kind, params, err := mime.ParseMediaType(a.kind)
	if err != nil || !strings.HasPrefix(kind, "text/") || params["charset"] != "" {
		return a.kind
	}
	if encodingFor(string(a.content)) == "7bit" {
		return a.kind + "; charset=us-ascii"
	}
	return a.kind + "; charset=utf-8"
}

// text encodes the body so that it arrives unchanged through any server: plain where it
// is ASCII, else readable or compact, whatever is shorter.
func (m *message) text() ([]byte, textproto.MIMEHeader, error) {
	kind := "text/plain; charset=utf-8"
	if m.html {
		kind = "text/html; charset=utf-8"
	}
	encoding := encodingFor(m.body)
	header := textproto.MIMEHeader{"Content-Type": {kind}, "Content-Transfer-Encoding": {encoding}}
	switch encoding {
	case "7bit":
		plain := strings.ReplaceAll(m.body, "\r\n", "\n")
		return []byte(strings.ReplaceAll(plain, "\n", "\r\n")), header, nil
	case "base64":
		return inBase64([]byte(m.body)), header, nil
	}
	var b bytes.Buffer
	w := quotedprintable.NewWriter(&b)
	if _, err := io.WriteString(w, m.body); err != nil {
		return nil, nil, err
	}
	err := w.Close() // writes the rest
	return b.Bytes(), header, err
}

// longestLine is what SMTP allows in one line.
const longestLine = 998

func encodingFor(text string) string {
	other, line, long := 0, 0, false
	for _, c := range []byte(text) {
		line++
		if c == '\n' {
			line = 0
		}
		long = long || line > longestLine
		if c >= 0x80 || c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			other++
		}
	}
	switch {
	case other == 0 && !long:
		return "7bit"
	case other < len(text)-other:
		return "quoted-printable"
	}
	return "base64"
}

func inBase64(content []byte) []byte {
	const width = 76
	text := base64.StdEncoding.EncodeToString(content)
	var b bytes.Buffer
	for len(text) > width {
		b.WriteString(text[:width] + "\r\n")
		text = text[width:]
	}
	b.WriteString(text)
	return b.Bytes()
}
