package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"zerodag/engine/expr"
	"zerodag/engine/param"
	"zerodag/engine/schedule"
)

// A frame consists of strings, each preceded by its length. A question contains settings, a template and parameters; an
// answer contains a letter and a string.
const (
	maxQuestion = 64 << 20 // the maximum size of a string in a question, in bytes
	maxAnswer   = 2 << 20  // the maximum size of a string in an answer, in bytes: more than a result may have
	maxProblem  = 16 << 10 // the maximum size of a problem's description, in bytes
)

// LastTime is how long an evaluation may take if it gets no processor time.
const LastTime = 15 * time.Second

// The first letter of an answer.
const (
	result  = "="
	problem = "!"
)

// Greeting is the argument that starts an evaluator, and its first message.
const Greeting = "zerodag-evaluator"

var errTooLong = errors.New("the message is longer than any valid one")

func appendFrame(b []byte, texts ...[]byte) []byte {
	for _, t := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(t)))
		b = append(b, t...)
	}
	return b
}

func readText(r *bufio.Reader, most uint32) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > most {
		return nil, errTooLong
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return text, err
}

// scope is an expr.Scope in transit: a zone is sent by name, because both programs contain its rules.
type scope struct {
	expr.Scope
	Zone string
}

// Question encodes a question for an evaluator.
func Question(q expr.Script) ([]byte, error) {
	settings, err := json.Marshal(scope{Scope: q.Scope, Zone: q.Scope.Location().String()})
	if err != nil {
		return nil, fmt.Errorf("send an expression: %w", err)
	}
	vars := param.AppendJSON(nil, q.Vars)
	if len(vars) > maxQuestion || len(q.Text) > maxQuestion {
		return nil, expr.ScriptError("the parameters of the expression exceed 64 MiB")
	}
	size := len(settings) + len(vars) + len(q.Text) + 12
	return appendFrame(slices.Grow([]byte(nil), size), settings, []byte(q.Text), vars), nil
}

// Questions reads encoded questions one after the other.
type Questions struct {
	in    *bufio.Reader
	zones map[string]*time.Location // zones that earlier questions used
}

// NewQuestions returns a reader of the questions in in.
func NewQuestions(in io.Reader) *Questions {
	return &Questions{in: bufio.NewReaderSize(in, 64<<10), zones: map[string]*time.Location{}}
}

// Next returns the next question; io.EOF if there are no more.
func (r *Questions) Next() (q expr.Script, err error) {
	var texts [3][]byte
	for i := range texts {
		if texts[i], err = readText(r.in, maxQuestion); err != nil {
			return q, err
		}
	}
	var s scope
	if err := json.Unmarshal(texts[0], &s); err != nil {
		return q, err
	}
	q.Text, q.Scope = string(texts[1]), s.Scope
	if q.Scope.Zone, err = r.zone(s.Zone); err != nil {
		return q, err
	}
	v, err := param.ParseJSON(string(texts[2]))
	if err != nil {
		return q, err
	}
	q.Vars, err = param.AsMap("parameters", v)
	return q, err
}

func (r *Questions) zone(name string) (*time.Location, error) {
	if l := r.zones[name]; l != nil {
		return l, nil
	}
	l, err := schedule.Zone(name)
	if err == nil {
		r.zones[name] = l
	}
	return l, err
}

// Hello returns the message that an evaluator sends when it is ready.
func Hello() []byte { return appendFrame(nil, []byte(Greeting)) }

// ReadHello reads the message that Hello returns.
func ReadHello(r *bufio.Reader) error {
	text, err := readText(r, uint32(len(Greeting)))
	if err != nil {
		return fmt.Errorf("the evaluator sent no greeting: %w", err)
	}
	if string(text) != Greeting {
		return fmt.Errorf("the evaluator sent the unexpected greeting %q", text)
	}
	return nil
}

// Answer encodes the outcome of a question.
func Answer(text string, err error) []byte {
	if err == nil {
		return appendFrame(nil, []byte(result), []byte(text))
	}
	message := err.Error()
	return appendFrame(nil, []byte(problem), []byte(message[:min(len(message), maxProblem)]))
}

// ReadAnswer reads an answer written by Answer: a mistake in a script is an expr.ScriptError.
func ReadAnswer(r *bufio.Reader) (string, error) {
	kind, err := readText(r, 1)
	if err != nil {
		return "", err
	}
	text, err := readText(r, maxAnswer)
	switch {
	case err != nil:
		return "", err
	case string(kind) == result:
		return string(text), nil
	case string(kind) == problem:
		return "", expr.ScriptError(text)
	}
	return "", fmt.Errorf("unexpected response of kind %q", kind)
}
