// Package judge encodes requests for the judge, the Python program in this folder, which checks them against AWS's
// service models.
//
// The tap and the judge's tests use it. It must never depend on LocalStack, whose plugin has its own encoder.
package judge

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
)

// Message is a request and its response. Target is the path with the query, and Answered holds the headers of the
// response.
type Message struct {
	Service   string      `json:"service"`
	Operation string      `json:"operation"`
	Protocol  string      `json:"protocol"`
	Method    string      `json:"method"`
	Target    string      `json:"target"`
	Headers   [][2]string `json:"headers"`
	Status    int         `json:"status"`
	Answered  [][2]string `json:"answered"`
	Body      []byte      `json:"-"`
	Answer    []byte      `json:"-"`
}

// Write writes a message in one call: three lengths, then JSON and both bodies.
func (m Message) Write(w io.Writer) error {
	about, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var text []byte
	for _, part := range [][]byte{about, m.Body, m.Answer} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
	}
	for _, part := range [][]byte{about, m.Body, m.Answer} {
		text = append(text, part...)
	}
	_, err = w.Write(text)
	return err
}

// Pairs returns the headers of a request or a response.
func Pairs(h http.Header) [][2]string {
	list := [][2]string{} // not null
	for name, values := range h {
		for _, v := range values {
			list = append(list, [2]string{name, v})
		}
	}
	return list
}
