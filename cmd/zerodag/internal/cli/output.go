package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/internal/client"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// The formats of a result. DigdagForm is Digdag's, which its scripts parse.
const (
	TextForm   = "text"
	WideForm   = "wide"
	DigdagForm = "digdag"
	JSONForm   = "json"
	YAMLForm   = "yaml"
)

// RegisterFormat adds --output, or --format if --output is already a path.
func (r *Remote) RegisterFormat(c *cobra.Command) {
	name := "output"
	if c.Flags().Lookup(name) != nil {
		name = "format"
	}
	usual := TextForm
	if program.AsDigdag() {
		usual = DigdagForm
	}
	c.Flags().StringVar(&r.Format, name, usual, "`FORMAT` of the result: text, wide (more columns), json, yaml, or digdag (as Digdag prints it)")
}

// CheckFormat returns an error if the requested format does not exist.
func (r *Remote) CheckFormat() error {
	switch r.Format {
	case TextForm, WideForm, DigdagForm, JSONForm, YAMLForm:
		return nil
	}
	return program.UsageError(fmt.Errorf("unknown format %q: use text, wide, json, yaml or digdag", r.Format))
}

// ForPeople reports whether the result is text rather than an API object.
func (r *Remote) ForPeople() bool { return r.Format != JSONForm && r.Format != YAMLForm }

// Ours reports whether the result is text in zerodag's format rather than Digdag's.
func (r *Remote) Ours() bool { return r.Format == TextForm || r.Format == WideForm }

// Notes returns the destination for lines that are not part of a result: separate from a result for programs.
func (r *Remote) Notes() io.Writer {
	if r.ForPeople() {
		return r.Out
	}
	return r.Err
}

// Hint shows the user what to do next.
func (r *Remote) Hint(format string, args ...any) {
	fmt.Fprintf(r.Err, program.AsCalled(format)+"\n", args...)
}

// Show writes a result as text or as an API object.
func (r *Remote) Show(v any, text func(Printer)) error {
	var b bytes.Buffer
	switch r.Format {
	default:
		text(Printer{&b})
	case JSONForm:
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(v); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	case YAMLForm:
		asJSON, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		tree, err := param.ParseJSON(string(asJSON))
		if err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		b.WriteString(strings.TrimRight(string(dig.FormatYAML(tree)), "\n") + "\n")
	}
	if _, err := r.Out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// List writes a list: as a table, in Digdag's format, or as API objects.
func (r *Remote) List(v any, original func(Printer), t *term.Table, none string) error {
	if !r.Ours() {
		return r.Show(v, original)
	}
	return r.Show(v, func(p Printer) {
		if t.Empty() {
			p.Line("%s", none)
			return
		}
		columns, ink := term.Look(r.Out)
		p.WriteString(t.Text(r.Format == WideForm, columns, ink))
	})
}

// Printer writes the lines that scripts parse (wire.md 3.6). It writes to memory.
type Printer struct{ *bytes.Buffer }

// Line writes a line, which refers to the program by the name it was called by.
func (p Printer) Line(format string, args ...any) {
	fmt.Fprintf(p, program.AsCalled(format)+"\n", args...)
}

// Block writes "label: value" lines and an empty line; pairs are labels and values.
func (p Printer) Block(indent string, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		p.Line("%s%s: %s", indent, pairs[i], Shown(pairs[i+1]))
	}
	p.Line("")
}

// OffsetTime is a time that is shown with its own offset; others are shown in the system's zone.
type OffsetTime time.Time

// Shown returns the text of a value; an absent value is empty.
func Shown(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *string:
		if v == nil {
			return ""
		}
		return *v
	case client.ID:
		return string(v)
	case *client.ID:
		if v == nil {
			return "null"
		}
		return string(*v)
	case []client.ID:
		texts := make([]string, len(v))
		for i, id := range v {
			texts[i] = string(id)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case OffsetTime:
		return term.Time(time.Time(v))
	case time.Time:
		return term.Time(v.Local())
	case *time.Time:
		if v == nil {
			return ""
		}
		return term.Time(v.Local())
	case *param.Map:
		if v == nil {
			return "{}"
		}
		return param.Text(v)
	}
	return fmt.Sprint(v)
}
