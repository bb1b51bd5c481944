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

// hexLike is a number that may be a piece of a hexadecimal text, such as the name of a commit.
var hexLike = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+[eE]\d+$`) })

// large notes a plain number that loses digits, or is one by accident.
func (r *reader) large(n *yaml.Node) {
	v, err := scalar(n)
	if err != nil {
		return
	}
	if !rule.IsExact(v) {
		r.noteDoubt(n, "quote it, as in '"+n.Value+"', if it is an identifier or a text", "%s is larger than 9007199254740991, so that ${...} changes its last digits", n.Value)
		return
	}
	f, isFloat := v.(float64)
	if hexLike().MatchString(n.Value) && (!isFloat || math.Abs(f) > rule.MaxExact) {
		r.noteDoubt(n, "quote it, as in '"+n.Value+"', if it is a text", "%s is the number %s", n.Value, numberText(v))
	}
}

// numberText is a number as an expression shows it.
func numberText(v param.Value) string {
	if f, isFloat := v.(float64); isFloat {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strings.Trim(param.Text(v), `"`) // Infinity is a text
}
