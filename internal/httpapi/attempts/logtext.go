package attempts

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"zerodag/internal/httpapi/endpoint"
	"zerodag/internal/httpapi/wire"
	"zerodag/internal/tasklog"
)

// logPiece is text from the part of a log file that has been written.
type logPiece struct {
	After int64  `json:"after"` // bytes of the decompressed file before the text
	Text  string `json:"text"`  // invalid UTF-8 is shown as U+FFFD
	Next  int64  `json:"next"`  // the value of after= for the text that follows
	More  bool   `json:"more"`  // there is already more
	// Done means that the attempt has ended, so the file no longer grows.
	Done bool `json:"done"`
}

func getLogText(c *endpoint.Call) (any, error) {
	after, err := c.Number("after", 0)
	if err != nil {
		return nil, err
	}
	if after < 0 {
		return nil, wire.Invalid("after= must be 0 or a number of bytes, not %d", after)
	}
	a, err := c.AttemptOf("attempt_id")
	if err != nil {
		return nil, err
	}
	file, err := openLog(c, a)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if strings.Contains(c.R.Header.Get("Accept"), plainType) {
		return plainText(c, file, after)
	}
	p := logPiece{After: after, Next: after, Done: a.Done}
	text, more := textAfter(file, after)
	p.Text, p.Next, p.More = string(text), after+int64(len(text)), more
	return p, nil
}

const plainType = "text/plain"

// plainText responds with all the text after the first `after` bytes, decompressed on the fly, so that a page can read
// a large log in one request. If a response is only sent once it is complete, it contains at most wire.MostText bytes.
func plainText(c *endpoint.Call, file io.Reader, after int64) (any, error) {
	h := c.W.Header()
	h.Set("Content-Type", plainType+"; charset=utf-8")
	h.Set("Vary", "Accept, Accept-Encoding")
	if c.Limits.Stream > 0 {
		text, _ := textAfter(file, after)
		return endpoint.Document{Type: plainType + "; charset=utf-8", Text: text}, nil
	}
	z, err := tasklog.After(file, after)
	if err != nil || c.R.Method == http.MethodHead { // the file is shorter
		return endpoint.Written{}, nil
	}
	to := io.Writer(c.W)
	if endpoint.Preferred(c.R.Header.Get("Accept-Encoding")) == "gzip" {
		h.Set("Content-Encoding", "gzip")
		packed, _ := gzip.NewWriterLevel(c.W, gzip.BestSpeed) // the level is valid
		defer func() { _ = packed.Close() }()                 // a connection that is gone
		to = packed
	}
	if err := copyText(to, z); err != nil {
		// The status was already sent: only a broken connection can show that the text is incomplete.
		panic(http.ErrAbortHandler)
	}
	return endpoint.Written{}, nil
}

// copyText copies text up to its end, or to the place where the file is damaged or has not been written yet, and ends
// with a whole character. It returns only write errors.
func copyText(to io.Writer, text io.Reader) error {
	buf := make([]byte, 64<<10)
	kept := 0
	for more := true; more; {
		n, end := text.Read(buf[kept:])
		more = end == nil
		n += kept
		whole := len(wholeRunes(buf[:n]))
		if _, err := to.Write(buf[:whole]); err != nil {
			return err
		}
		kept = copy(buf, buf[whole:n])
	}
	return nil
}

// textAfter decompresses up to wire.MostText bytes after the first `after`, and reports whether there is more. A file
// that is still being written may end anywhere; a damaged file ends where the damage begins.
func textAfter(file io.Reader, after int64) (text []byte, more bool) {
	z, err := tasklog.After(file, after)
	if err != nil {
		return nil, false // the file is shorter
	}
	text = make([]byte, wire.MostText+1)
	n, err := io.ReadFull(z, text)
	if err == nil {
		return wholeRunes(text[:wire.MostText]), true
	}
	if errors.Is(err, io.EOF) { // the file is complete, so no more bytes of its last character will come
		return text[:n], false
	}
	return wholeRunes(text[:n]), false
}
