package main

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

// The forms of a result. digdagForm is that of the original, which its scripts parse.
const (
	textForm   = "text"
	wideForm   = "wide"
	digdagForm = "digdag"
	jsonForm   = "json"
	yamlForm   = "yaml"
)

// registerFormat adds --output, or --format where --output is a path already.
func (r *remote) registerFormat(c *cobra.Command) {
	name := "output"
	if c.Flags().Lookup(name) != nil {
		name = "format"
	}
	usual := textForm
	if program.AsDigdag() {
		usual = digdagForm
	}
	c.Flags().StringVar(&r.format, name, usual, "`FORMAT` of the result: text, wide (more columns), json, yaml, or digdag (as the original)")
}

func (r *remote) checkFormat() error {
	switch r.format {
	case textForm, wideForm, digdagForm, jsonForm, yamlForm:
		return nil
	}
	return program.UsageError(fmt.Errorf("unknown format %q: it must be text, wide, json, yaml or digdag", r.format))
}

// forPeople says that the result is no object of the API.
func (r *remote) forPeople() bool { return r.format != jsonForm && r.format != yamlForm }

// ours says that the result is for people, and not as the original shows it.
func (r *remote) ours() bool { return r.format == textForm || r.format == wideForm }

// notes is where lines go that are no result: away from a result for programs.
func (r *remote) notes() io.Writer {
	if r.forPeople() {
		return r.out
	}
	return r.err
}

// hint tells a person what to do next.
func (r *remote) hint(format string, args ...any) {
	fmt.Fprintf(r.err, program.AsCalled(format)+"\n", args...)
}

// show writes a result: as text for people, or as the API's object.
func (r *remote) show(v any, text func(printer)) error {
	var b bytes.Buffer
	switch r.format {
	default:
		text(printer{&b})
	case jsonForm:
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(v); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	case yamlForm:
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
	if _, err := r.out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// list writes a list: as a table for people, as the original does, or as the API's objects.
func (r *remote) list(v any, original func(printer), t *term.Table, none string) error {
	if !r.ours() {
		return r.show(v, original)
	}
	return r.show(v, func(p printer) {
		if t.Empty() {
			p.line("%s", none)
			return
		}
		columns, ink := term.Look(r.out)
		p.WriteString(t.Text(r.format == wideForm, columns, ink))
	})
}

// printer writes the lines that scripts parse (wire.md 3.6). It writes to memory.
type printer struct{ *bytes.Buffer }

func (p printer) line(format string, args ...any) {
	fmt.Fprintf(p, program.AsCalled(format)+"\n", args...)
}

// block writes "label: value" lines and an empty line; pairs are labels and values.
func (p printer) block(indent string, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		p.line("%s%s: %s", indent, pairs[i], shown(pairs[i+1]))
	}
	p.line("")
}

// offsetTime is a time that is shown in the offset it has; others are in the system's zone.
type offsetTime time.Time

// shown is the text of a value; what is absent is empty.
func shown(v any) string {
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
	case offsetTime:
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
