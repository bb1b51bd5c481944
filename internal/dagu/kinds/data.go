package kinds

import (
	"cmp"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/precomputed"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// dataAction returns the task for data.convert and data.pick. The data is in the file, so the step's output is known
// before the run.
func dataAction(s *tasks.Step) *param.Map {
	with := s.With()
	s.Outside(s.Map, "type", "a data action")
	s.Only(with, "from", "to", "data", "input", "has_header", "headers", "columns", "delimiter", "select", "raw")
	data, there := with.Get("data")
	switch {
	case !there:
		s.Refuse(with, "input", "read the file with a command, such as `jq`",
			"a step of type %s with a file is not translated", document.Text(s.Map, "type"))
	case document.Reference().MatchString(param.Text(data)) && document.Text(s.Map, "type") == "data.pick" &&
		strings.EqualFold(document.Text(with, "from"), "json") && isOn(s, "raw", false):
		return pickLater(s, data)
	case document.Reference().MatchString(param.Text(data)):
		s.Refuse(with, "data", "write an expression such as ${JSON.parse(value).name}",
			"a step of type %s whose data is only known at run time is not translated", document.Text(s.Map, "type"))
	}
	printed, err := formOf(s).Convert(data)
	if err != nil { // it also fails in Dagu
		return param.New("fail>", references.Literal(err.Error()))
	}
	return s.CommandTask("printf '%s' "+references.Literal(references.ShellWord(printed)),
		tasks.Program{POSIX: true, Stops: true})
}

// pickLater returns a task that picks part of the JSON that the run produces. How Dagu prints the part is known only
// for plain values.
func pickLater(s *tasks.Step, data param.Value) *param.Map {
	with := s.With()
	formOf(s) // refuses unknown formats
	s.Extra.Set("WITH_DATA", s.Plain(with, "data", document.TextOf(data)))
	s.Note(with, "data", "install it where the commands run", false,
		"step %s runs the program jq, and fails if it selects a list, a mapping or a number of a million or more", s.Called)
	filter := `if length == 1 then .[0] else error("the data is not one JSON value") end | ` +
		document.Text(with, "select") +
		` | if . == null then "" elif type == "string" or type == "boolean" or type == "number" and fabs < 1000000 then . else error("picked a list, a mapping or a large number") end`
	return s.CommandTask(`printf '%s' "$WITH_DATA" | jq -s -r -M `+references.Literal(references.ShellWord(filter)),
		tasks.Program{POSIX: true, Stops: true})
}

// formOf reads the format of the data from `with`.
func formOf(s *tasks.Step) precomputed.DataForm {
	with := s.With()
	f := precomputed.DataForm{From: strings.ToLower(document.Text(with, "from")),
		To: strings.ToLower(document.Text(with, "to")), Header: isOn(s, "has_header", true),
		Headers:   isOn(s, "headers", true),
		Delimiter: document.Text(with, "delimiter"), Unquoted: isOn(s, "raw", false)}
	columns, _ := with.Get("columns")
	for _, c := range keys.ListOf(columns) {
		f.Columns = append(f.Columns, document.TextOf(c))
	}
	known := []string{"json", "yaml", "csv", "tsv", "text"}
	if document.Text(s.Map, "type") == "data.pick" {
		if !f.Unquoted {
			f.To = cmp.Or(f.To, "json")
		} else if f.To != "" {
			s.Refuse(with, "to", "write one of `raw` and `to`", "a step has both raw and to")
		}
		if f.Selected = precomputed.DataPath(document.Text(with, "select")); f.Selected == nil {
			s.Refuse(with, "select", "run `jq` as a command", "select is not a plain path: %s", document.Text(with, "select"))
		}
	}
	if !slices.Contains(known, f.From) || !slices.Contains(known, f.To) && !f.Unquoted {
		s.Refuse(with, "from", "write json, yaml, csv, tsv or text", "unknown data formats: from %s to %s",
			f.From, f.To)
	}
	if len([]rune(f.Delimiter)) > 1 {
		s.Refuse(with, "delimiter", "write one character", "a delimiter must be one character, not %s", f.Delimiter)
	}
	return f
}
