package dig

import (
	"gopkg.in/yaml.v3"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// hexLike matches a number that may be part of a hexadecimal string, such as a commit hash.
var hexLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+[eE]\d+$`) })

// large records a plain number that loses digits, or is only accidentally a number.
func (r *reader) large(n *yaml.Node) {
	v, err := scalar(n)
	if err != nil {
		return
	}
	if !rule.IsExact(v) {
		r.noteDoubt(n, "quote it, as in '"+n.Value+"', if it is an identifier or text", "%s is larger than 9007199254740991, so ${...} changes its last digits", n.Value)
		return
	}
	f, isFloat := v.(float64)
	if hexLike().MatchString(n.Value) && (!isFloat || math.Abs(f) > rule.MaxExact) {
		r.noteDoubt(n, "quote it, as in '"+n.Value+"', if it is text", "%s is the number %s", n.Value, numberText(v))
	}
}

// numberText formats a number as an expression shows it.
func numberText(v param.Value) string {
	if f, isFloat := v.(float64); isFloat {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strings.Trim(param.Text(v), `"`) // Infinity is text
}
