// Package kinds creates the task for a step according to its type: requests, mails, queries, files, data, called
// workflows and others. A type without a counterpart is refused. It must not read keys that all steps have: package
// tasks reads them.
package kinds

import (
	"cmp"
	"slices"
	"strings"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// kinds maps the types of steps that have a counterpart to the functions that create their tasks.
func kinds() map[string]func(*tasks.Step) *param.Map {
	return map[string]func(*tasks.Step) *param.Map{
		"": (*tasks.Step).ShellTask, "noop": noop, "log": log, "router": router, "exec": exec, "http": request,
		"ssh": ssh, "mail": mail, "template": filled, "jq": jq, "docker": inDocker, "postgres": postgres,
		"wait.duration": wait, "outputs.write": writeOutputs,
		"file.write": writeFile, "file.mkdir": makeFolder, "file.read": readFile,
		"data.convert": dataAction, "data.pick": dataAction,
	}
}

// Task returns the task for a step, without its policies.
func Task(s *tasks.Step) *param.Map {
	kind := document.Text(s.Map, "type")
	switch {
	case s.Has("call"):
		if kind != "" {
			s.Refuse(s.Map, "type", "write `require>`, which starts a separate attempt",
				"a workflow called by a step of type %s is not translated", kind)
		}
		return call(s)
	case s.Has("parallel"):
		s.Refuse(s.Map, "parallel", "write `for_each>`", "parallel is not translated without a called workflow")
	case kind == "" && s.Has("exec"):
		return exec(s)
	case kind == "" && s.With().Len() > 0:
		s.Refuse(s.Map, "with", "write it differently", "the configuration of a command is not translated: %s",
			strings.Join(s.With().Keys(), ", "))
	}
	for _, key := range []string{"value", "routes"} {
		if s.Has(key) && kind != "router" {
			s.Refuse(s.Map, key, "write `type: router`", "%s is not translated for a step that is not a router", key)
		}
	}
	if of := kinds()[kind]; of != nil {
		return of(s)
	}
	s.Refuse(s.Map, "type", insteadOf(kind), "steps of type %s are not supported", kind)
	return param.New("fail>", kind)
}

// insteadOf returns the remedy for a type without a counterpart.
func insteadOf(kind string) string {
	switch name, _, _ := strings.Cut(kind, "."); name {
	case "s3":
		return "run `aws s3` as a command; `s3_copy>`, `s3_move>` and `s3_delete>` work within S3"
	case "human", "approval":
		return "move the following steps to a separate workflow that is started manually"
	case "dag":
		return "write `require>`, which starts a separate attempt"
	}
	return "run a command that does the same; `zerodag operators` lists the operators"
}

func noop(s *tasks.Step) *param.Map {
	if s.Published() != nil {
		return s.ShellTask()
	}
	s.None("output")
	return param.New("sh>", ":")
}

func log(s *tasks.Step) *param.Map {
	s.None("output")
	s.Only(s.With(), "message")
	return param.New("echo>", s.Plain(s.With(), "message", document.Text(s.With(), "message")))
}

func router(s *tasks.Step) *param.Map {
	s.None("output")
	routes := s.Map.Map("routes")
	patterns := slices.Clone(routes.Keys())
	slices.SortFunc(patterns, func(a, b string) int {
		return cmp.Or(cmp.Compare(routeRank(a), routeRank(b)),
			cmp.Compare(a, b))
	})
	text := "Router evaluating: " + references.Literal(document.Text(s.Map, "value"))
	for _, pattern := range patterns {
		targets, _ := routes.Get(pattern)
		text += "\n  " + references.Literal(pattern) + " -> [" +
			references.Literal(strings.Join(document.TextsOf(targets), " ")) + "]"
	}
	return param.New("echo>", text)
}

// routeRank orders the routes as Dagu prints them: plain values, then patterns, then the pattern that matches any
// value.
func routeRank(pattern string) int {
	switch {
	case pattern == "re:.*":
		return 2
	case strings.HasPrefix(pattern, "re:"):
		return 1
	}
	return 0
}

func wait(s *tasks.Step) *param.Map {
	s.None("output")
	s.Only(s.With(), "duration")
	text := document.Text(s.With(), "duration")
	if d, ok := param.ParseDuration(text); !ok || d <= 0 {
		s.Refuse(s.With(), "duration", "write a duration such as 30s", "a wait needs a duration: %s", text)
	}
	return param.New("wait>", text)
}

// writeOutputs returns a task that stores the workflow's outputs.
func writeOutputs(s *tasks.Step) *param.Map {
	s.None("output")
	s.Only(s.With(), "values")
	out := param.New()
	for key, v := range s.Written().All() {
		out.Set(document.Variable(key), v)
	}
	if out.Len() == 0 {
		s.Refuse(s.Map, "with", "write `values`", "the step has no output values")
	}
	s.Outside(s.Map, "type", "writing outputs")
	return s.CommandTask("cat >> \"$ZERODAG_STORE\" <<'END_OF_VALUES'\n"+s.JSON(s.With(), "values", out)+
		"\nEND_OF_VALUES\n", tasks.Program{POSIX: true, Stops: true})
}

func mail(s *tasks.Step) *param.Map {
	with := s.With()
	s.None("output")
	s.Only(with, "to", "from", "subject", "message", "attachments", "cc", "bcc")
	task := param.New("mail>", param.New("data", s.Plain(with, "message", document.Text(with, "message"))), "subject",
		s.Plain(with, "subject", document.Text(with, "subject")))
	for _, key := range []string{"to", "cc", "bcc"} {
		var list []param.Value
		for _, address := range document.Texts(with, key) {
			for one := range strings.SplitSeq(address, ",") {
				list = append(list, s.Plain(with, key, strings.TrimSpace(one)))
			}
		}
		if list != nil {
			task.Set(key, list)
		}
	}
	if from := document.Text(with, "from"); from != "" {
		task.Set("from", s.Plain(with, "from", from))
	}
	var files []param.Value
	for _, file := range document.Texts(with, "attachments") {
		files = append(files, param.New("path", s.Plain(with, "attachments", file)))
	}
	if files != nil {
		task.Set("attach_files", files)
	}
	if !task.Has("to") {
		s.Refuse(with, "to", "write an address", "an email has no address")
	}
	s.Note(s.Map, "type", "configure a mail server (config.mail.*)", false, "the step %s sends email", s.Name)
	return task
}
