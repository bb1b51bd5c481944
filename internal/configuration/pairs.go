package configuration

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/internal/program"
)

// Pair is one KEY=VALUE from the command line or from a configuration.
type Pair struct{ Key, Value string }

// SplitPairs reads the values of an option that takes KEY=VALUE as Digdag's parser does: commas separate pairs, and a
// part without "=" belongs to the value before it. `a=1,b=2` is two pairs, `list=[1,2,3],b=2` is list="[1,2,3]" and
// b="2". Commas at the end of a value are lost.
func SplitPairs(option string, values []string) ([]Pair, error) {
	var pairs []Pair
	for _, value := range values {
		if !strings.Contains(value, "=") {
			return nil, program.UsageError(fmt.Errorf("Parameter %s expected a value of the form a=b but got:%s", option, value))
		}
		for piece := range strings.SplitSeq(strings.TrimRight(value, ","), ",") {
			k, v, isPair := strings.Cut(piece, "=")
			switch {
			case isPair:
				pairs = append(pairs, Pair{k, v})
			case len(pairs) > 0:
				pairs[len(pairs)-1].Value += "," + piece
			default:
				return nil, program.UsageError(fmt.Errorf("%s %s: %q before the first comma has no \"=\": it must be of the form KEY=VALUE", option, value, piece))
			}
		}
	}
	return pairs, nil
}

// bareName matches text that may be the name of a parameter whose value was forgotten.
var bareName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`) })

// tellJoined warns if a word after a comma became part of the value before it, as in Digdag: it may have been meant as
// a separate parameter.
func tellJoined(out io.Writer, values []string) {
	for _, value := range values {
		pairs, err := SplitPairs("--param", []string{value})
		if err != nil {
			return // the functions that use the values report the error
		}
		for _, p := range pairs {
			pieces := strings.Split(p.Value, ",")
			if !strings.ContainsAny(p.Value, `[{"'`) && slices.ContainsFunc(pieces[1:], bareName().MatchString) {
				fmt.Fprintf(out, "note: --param %s=%s is one parameter with a comma in its value: write another parameter as KEY=VALUE, or with a separate --param\n", p.Key, p.Value)
			}
		}
	}
}
