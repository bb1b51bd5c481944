package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// pair is one KEY=VALUE of the command line or of a configuration.
type pair struct{ key, value string }

// splitPairs reads the values of an option that takes KEY=VALUE as the original's parser does: a
// value is a list whose pieces commas part, and a piece without "=" belongs to the value before
// it. `a=1,b=2` is two pairs, `list=[1,2,3],b=2` is list="[1,2,3]" and b="2". Commas at the end
// of a value are lost.
func splitPairs(option string, values []string) ([]pair, error) {
	var pairs []pair
	for _, value := range values {
		if !strings.Contains(value, "=") {
			return nil, usageError{fmt.Errorf("Parameter %s expected a value of the form a=b but got:%s", option, value)}
		}
		for piece := range strings.SplitSeq(strings.TrimRight(value, ","), ",") {
			k, v, isPair := strings.Cut(piece, "=")
			switch {
			case isPair:
				pairs = append(pairs, pair{k, v})
			case len(pairs) > 0:
				pairs[len(pairs)-1].value += "," + piece
			default:
				return nil, usageError{fmt.Errorf("%s %s: %q before the first comma has no \"=\": it must be of the form KEY=VALUE", option, value, piece)}
			}
		}
	}
	return pairs, nil
}

// bareName is what may be the name of a parameter whose value was forgotten.
var bareName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`) })

// tellJoined says where a word behind a comma became a part of the value before it, as the original has it: it may
// have been meant as a parameter of its own.
func tellJoined(out io.Writer, values []string) {
	for _, value := range values {
		pairs, err := splitPairs("--param", []string{value})
		if err != nil {
			return // which is told by who uses them
		}
		for _, p := range pairs {
			pieces := strings.Split(p.value, ",")
			if !strings.ContainsAny(p.value, `[{"'`) && slices.ContainsFunc(pieces[1:], bareName().MatchString) {
				fmt.Fprintf(out, "note: --param %s=%s is one parameter with a comma in its value: a further one is written KEY=VALUE, or with a --param of its own\n", p.key, p.value)
			}
		}
	}
}
