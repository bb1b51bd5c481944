package meter

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Family describes a metric. Names are without the prefix "zerodag_".
type Family struct {
	Name, Kind, Help string
	Labels           []string
}

// The kinds of metrics.
const (
	Counter   = "counter"
	Gauge     = "gauge"
	Histogram = "histogram"
)

// prefix begins the names of all metrics.
const prefix = "zerodag_"

// FullName returns the name of the metric on a page.
func (f Family) FullName() string { return prefix + f.Name }

// Page is a page of metrics in Prometheus' text format, version 0.0.4.
type Page struct {
	b     bytes.Buffer
	begun string // the family whose head was written last
}

// Bytes returns the page.
func (p *Page) Bytes() []byte { return p.b.Bytes() }

// Add writes a metric's value, with the values of its labels. All values of a metric are added one after the other.
func (p *Page) Add(f Family, value any, labels ...string) {
	p.head(f)
	p.sample(f.Name, f.Labels, labels, value)
}

// head writes what a metric means before its first value.
func (p *Page) head(f Family) {
	if p.begun == f.Name {
		return
	}
	p.begun = f.Name
	fmt.Fprintf(&p.b, "# HELP %s %s\n# TYPE %s %s\n", f.FullName(), escapeHelp(f.Help), f.FullName(), f.Kind)
}

func (p *Page) sample(name string, labels, values []string, value any) {
	p.b.WriteString(prefix + name)
	for i, l := range labels {
		p.b.WriteByte("{,"[min(i, 1)])
		p.b.WriteString(l + `="` + escapeValue(values[i]) + `"`)
	}
	if len(labels) > 0 {
		p.b.WriteByte('}')
	}
	switch v := value.(type) {
	case float64:
		p.b.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
	default:
		fmt.Fprintf(&p.b, " %d\n", v)
	}
}

// addHistogram writes all samples of a histogram.
func (p *Page) addHistogram(f Family, h *histogram, labels ...string) {
	p.head(f)
	names, values, total := append(f.Labels[:len(f.Labels):len(f.Labels)], "le"), append(labels[:len(labels):len(labels)], ""), int64(0)
	for i, n := range h.counts {
		total += n
		values[len(labels)] = "+Inf"
		if i < len(h.bounds) {
			values[len(labels)] = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
		}
		p.sample(f.Name+"_bucket", names, values, total)
	}
	p.sample(f.Name+"_sum", f.Labels, labels, h.sum)
	p.sample(f.Name+"_count", f.Labels, labels, total)
}

func escapeHelp(s string) string { return helpEscapes().Replace(s) }

func escapeValue(s string) string {
	return valueEscapes().Replace(strings.ToValidUTF8(s, "\uFFFD"))
}

// A page has tens of thousands of values, so the replacers are made once.
var (
	helpEscapes  = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(`\`, `\\`, "\n", `\n`) })
	valueEscapes = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`) })
)

// histogram counts values up to ascending bounds; the last count is for values above all of them.
type histogram struct {
	bounds []float64
	counts []int64
	sum    float64
}

func newHistogram(bounds []float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]int64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += v
}
