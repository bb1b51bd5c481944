package dig

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"zerodag/engine/param"
)

// Plain scalars that are numbers (language.md 1.2). Text that looks like a time of day, a date or a number with a
// leading zero stays text.
var (
	intForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)
	})
	floatForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([-+]?(\.[0-9]+|[1-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	})
)

// scalar returns the value of a scalar node. Quoted text is a string; the type of plain text follows from its form; an
// explicit tag overrides both.
func scalar(n *yaml.Node) (param.Value, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return tagged(n)
	}
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return n.Value, nil
	}
	return plain(n.Value)
}

// nulls are the spellings of null.
var nulls = [...]string{"~", "null", "Null", "NULL"}

func plain(s string) (param.Value, error) {
	if s == "" {
		return nil, nil
	}
	switch s[0] {
	case '~', 'n', 'N':
		if slices.Contains(nulls[:], s) {
			return nil, nil
		}
	case 't', 'T':
		if s == "true" || s == "True" {
			return true, nil
		}
	case 'f', 'F':
		if s == "false" || s == "False" {
			return false, nil
		}
	case '-', '+', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if intForm().MatchString(s) {
			return parseInt(s)
		}
		if floatForm().MatchString(s) {
			return parseFloat(s)
		}
	}
	return s, nil
}

// maxDigits limits whole numbers: the time to read one grows with the square of its length.
const maxDigits = 1000

// parseInt reads a whole number: 0b, 0x and 0 are prefixes of bases 2, 16 and 8.
func parseInt(s string) (param.Value, error) {
	digits, negative := unsigned(s)
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		digits, base = digits[2:], 2
	case strings.HasPrefix(digits, "0x"):
		digits, base = digits[2:], 16
	case len(digits) > 1 && digits[0] == '0':
		digits, base = digits[1:], 8
	}
	if len(digits) > maxDigits {
		return nil, fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok || strings.ContainsAny(digits, "+-") {
		return nil, fmt.Errorf("%q is not a whole number", s)
	}
	if negative {
		n.Neg(n)
	}
	if n.IsInt64() {
		return n.Int64(), nil
	}
	return n, nil
}

// parseFloat reads a number; 1:30.5 is in base 60. Numbers that JSON lacks become the text that Digdag's trees contain:
// "Infinity", "-Infinity", "NaN".
func parseFloat(s string) (param.Value, error) {
	digits, negative := unsigned(s)
	var f float64
	switch lower := strings.ToLower(digits); lower {
	case ".inf":
		f = math.Inf(1)
	case ".nan":
		f = math.NaN()
	default:
		for _, part := range strings.Split(digits, ":") {
			p, err := strconv.ParseFloat(part, 64)
			if err != nil && !math.IsInf(p, 0) {
				return nil, fmt.Errorf("%q is not a number", s)
			}
			f = f*60 + p
		}
	}
	if negative {
		f = -f
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return strings.Trim(param.FloatText(f), `"`), nil
	}
	return f, nil
}

func unsigned(s string) (digits string, negative bool) {
	s = strings.ReplaceAll(s, "_", "")
	negative = strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	return s, negative
}

// tagged reads a scalar with an explicit standard tag.
func tagged(n *yaml.Node) (param.Value, error) {
	switch n.Tag {
	case "!!str":
		return n.Value, nil
	case "!!null":
		return nil, nil
	case "!!int":
		return parseInt(n.Value)
	case "!!float":
		return parseFloat(n.Value)
	case "!!bool":
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on":
			return true, nil
		case "false", "no", "off":
			return false, nil
		}
		return nil, fmt.Errorf("%q is not a boolean", n.Value)
	case "!!binary":
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			return nil, fmt.Errorf("decode !!binary: %w", err)
		}
		return base64.StdEncoding.EncodeToString(data), nil
	case "!!timestamp":
		var t time.Time
		if err := n.Decode(&t); err != nil {
			return nil, fmt.Errorf("%q is not a timestamp", n.Value)
		}
		return t.UnixMilli(), nil
	}
	return nil, unknownTag(n)
}

func unknownTag(n *yaml.Node) error {
	tag := n.Tag
	if rest, ok := strings.CutPrefix(tag, "!!"); ok {
		tag = "tag:yaml.org,2002:" + rest
	}
	return fmt.Errorf("could not determine a constructor for the tag %s", tag)
}
