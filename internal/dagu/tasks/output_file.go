package tasks

import (
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
)

// declaration is an entry of `outputs`.
type declaration struct {
	name   string
	isJSON bool
}

// declarations lists the `outputs` of a step.
func (s *Step) declarations() (all []declaration) {
	list, _ := s.Get("outputs")
	for _, e := range keys.ListOf(list) {
		d := declaration{name: document.TextOf(e)}
		if m, isMap := e.(*param.Map); isMap {
			s.Only(m, "name", "type")
			d = declaration{name: document.Text(m, "name"), isJSON: document.Text(m, "type") == "json"}
		}
		all = append(all, d)
	}
	return all
}

// declared returns shell lines that read the output file as Dagu does and store the outputs; "" for a step without such
// a file. The step fails if the file has another format, lacks an output or has an undeclared one. The lines then write
// the reason to $ZERODAG_STORE; because the text is invalid there, it becomes the task's error message.
func (s *Step) declared() string {
	if !references.WritesOutputs(s.Map) {
		return ""
	}
	var names, stored, inJSON []string
	for _, d := range s.declarations() {
		names, stored = append(names, d.name), append(stored, s.Values["steps."+s.ID+".outputs."+d.name].As)
		if d.isJSON {
			inJSON = append(inJSON, d.name)
		}
	}
	program := outputReader
	options := "-v names='" + strings.Join(names, " ") + "'"
	if !slices.Equal(names, stored) {
		options += " -v stored='" + strings.Join(stored, " ") + "'"
	}
	if len(inJSON) > 0 {
		program = strings.Replace(program, "BEGIN {", jsonReader+"BEGIN {", 1)
		program = strings.Replace(program, "value[name] = text\n",
			"if (name in json && !isJSON(text)) fail(\"the output is not JSON: \" name)\n  value[name] = text\n", 1)
		program = strings.Replace(program, "BEGIN {\n",
			"BEGIN {\n  n = split(injson, list, \" \"); for (i = 1; i <= n; i++) json[list[i]] = 1\n", 1)
		options += " -v injson='" + strings.Join(inJSON, " ") + "'"
	}
	return "awk " + options + " '" + references.Literal(program) + "' \"$" + references.OutputFile +
		"\" >> \"$ZERODAG_STORE\"\n"
}

// outputReader is a script that reads lines such as `name=value` and `name<<END`, and prints the values as a JSON
// object.
const outputReader = `
function fail(text) { print text; failed = 1; exit }
function take(name, text) {
  if (!(name in known)) fail("the output is not declared: " name)
  if (name in value) fail("the output is written twice: " name)
  value[name] = text
}
function quoted(text,  out, i, c) {
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    out = out (c in escaped ? escaped[c] : c)
  }
  return "\"" out "\""
}
BEGIN {
  for (i = 1; i < 32; i++) escaped[sprintf("%c", i)] = sprintf("\\u%04x", i)
  escaped["\\"] = "\\\\"; escaped["\""] = "\\\""
  if (stored == "") stored = names
  n = split(names, order, " "); split(stored, as, " ")
  for (i = 1; i <= n; i++) known[order[i]] = 1
}
{ sub(/\r$/, "") }
end != "" && $0 == end { take(name, text); end = ""; next }
end != "" { text = text between $0; between = "\n"; next }
/^[^=]+<<[A-Za-z_][A-Za-z0-9_]*$/ { i = index($0, "<<"); name = substr($0, 1, i - 1); end = substr($0, i + 2); text = between = ""; next }
/^[^=]*<</ || !/^[^=]+=/ { fail("line " NR " of the output file is not an output") }
{ i = index($0, "="); take(substr($0, 1, i - 1), substr($0, i + 1)) }
END {
  if (failed) exit
  if (end != "") { print "the output has no end: " name; exit }
  for (i = 1; i <= n; i++) if (!(order[i] in value)) { print "the output is missing: " order[i]; exit }
  printf "{"
  for (i = 1; i <= n; i++) printf "%s\"%s\": %s", (i > 1 ? ", " : ""), as[i], quoted(value[order[i]])
  print "}"
}`

// jsonReader is the JSON test that is added to the script: it replaces strings, then numbers and keywords, then lists
// and mappings of such values.
const jsonReader = `function isJSON(text) {
  if (text ~ /[\001\002]/) return 0
  gsub(/"([^"\\]|\\["\\\/bfnrt]|\\u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F])*"/, "\001", text)
  gsub(/-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]+)?|true|false|null/, "\002", text)
  gsub(/[ \t\n]+/, " ", text)
  while (gsub(/\[ ?([\001\002]( ?, ?[\001\002])*)? ?\]|\{ ?(\001 ?: ?[\001\002]( ?, ?\001 ?: ?[\001\002])*)? ?\}/, "\002", text)) ;
  return text ~ /^ ?[\001\002] ?$/
}
`
