package evaluators

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"zerodag/engine/expr"
	"zerodag/engine/param"
)

// A frame is a number of texts, each after its length. A question is settings, template and
// parameters; an answer is a letter and a text.
const (
	maxQuestion = 64 << 20 // bytes of the largest text of a question
	maxAnswer   = 2 << 20  // and of an answer: more than a result may have
	maxProblem  = 16 << 10 // bytes of what is said of a script
)

// What an answer begins with.
const (
	greeting = "zerodag-evaluator"
	result   = "="
	problem  = "!"
)

var errTooLong = errors.New("more than is ever sent")

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

// scope is an expr.Scope as it crosses: a zone goes by its name, and with its rules when the
// evaluator does not have them yet.
type scope struct {
	expr.Scope
	Zone  string
	Rules []byte `json:",omitempty"`
}

// question writes what an evaluator is asked.
func question(q expr.Script, zone string, rules []byte) ([]byte, error) {
	settings, err := json.Marshal(scope{Scope: q.Scope, Zone: zone, Rules: rules})
	if err != nil {
		return nil, fmt.Errorf("hand an expression over: %w", err)
	}
	vars := param.AppendJSON(nil, q.Vars)
	if len(vars) > maxQuestion || len(q.Text) > maxQuestion {
		return nil, expr.ScriptError("the parameters that the expression sees are larger than 64 MiB")
	}
	size := len(settings) + len(vars) + len(q.Text) + 12
	return appendFrame(slices.Grow([]byte(nil), size), settings, []byte(q.Text), vars), nil
}

// readQuestion reads what question wrote.
func readQuestion(r *bufio.Reader, zones *zones) (q expr.Script, err error) {
	var texts [3][]byte
	for i := range texts {
		if texts[i], err = readText(r, maxQuestion); err != nil {
			return q, err
		}
	}
	var s scope
	if err := json.Unmarshal(texts[0], &s); err != nil {
		return q, err
	}
	q.Text, q.Scope = string(texts[1]), s.Scope
	if q.Scope.Zone, err = zones.find(s.Zone, s.Rules); err != nil {
		return q, err
	}
	v, err := param.ParseJSON(string(texts[2]))
	if err != nil {
		return q, err
	}
	q.Vars, err = param.AsMap("parameters", v)
	return q, err
}

// answer writes what became of a question.
func answer(text string, err error) []byte {
	if err == nil {
		return appendFrame(nil, []byte(result), []byte(text))
	}
	message := err.Error()
	return appendFrame(nil, []byte(problem), []byte(message[:min(len(message), maxProblem)]))
}

// readAnswer reads what answer wrote.
func readAnswer(r *bufio.Reader) (string, error) {
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
	return "", fmt.Errorf("an answer of the kind %q", kind)
}
